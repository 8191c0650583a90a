/** Computes CRC-32 as in zlib, which test/data/tfds/expected.json uses. */
const TABLE = Uint32Array.from({ length: 256 }, (_, i) => {
  let sum = i;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});

/** @param before the checksum of the preceding bytes */
export function crc32(bytes: Uint8Array, before = 0): number {
  let sum = ~before;
  for (let i = 0; i < bytes.length; i++) sum = (sum >>> 8) ^ (TABLE[(sum ^ (bytes[i] as number)) & 255] as number);
  return ~sum >>> 0;
}
