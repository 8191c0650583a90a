/** Computes CRC-32C (Castagnoli), eight bytes per iteration. Each of the eight tables processes one of these bytes. */
const POLYNOMIAL = 0x82f63b78;
const TURN = 8;

const TABLES = /* @__PURE__ */ tables();

/** Returns the tables; table k begins at 256 × k. */
function tables(): Uint32Array {
  const made = new Uint32Array(256 * TURN);
  for (let i = 0; i < 256; i++) {
    let sum = i;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1;
    made[i] = sum;
  }
  for (let i = 256; i < made.length; i++) {
    const before = made[i - 256] as number;
    made[i] = (before >>> 8) ^ (made[before & 255] as number);
  }
  return made;
}

/** Returns the checksum of the bytes from index `from` up to, but not including, index `to`. @param before the checksum of the preceding bytes */
export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length, before = 0): number {
  let sum = ~before;
  let at = from;
  // From the first aligned address on, each iteration reads two words (eight bytes). The bytes before and after these words are read one by one.
  for (const aligned = Math.min(to, from + (-(bytes.byteOffset + from) & 3)); at < aligned; at++) sum = turned(sum, bytes[at] as number);
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at - ((bytes.byteOffset + at) & 3), (to - at) >> 2);
  const last = words.length - 1;
  for (let w = 0; w < last; w += 2) {
    const low = (words[w] as number) ^ sum;
    const high = words[w + 1] as number;
    sum =
      (TABLES[1792 + (low & 255)] as number) ^
      (TABLES[1536 + ((low >>> 8) & 255)] as number) ^
      (TABLES[1280 + ((low >>> 16) & 255)] as number) ^
      (TABLES[1024 + (low >>> 24)] as number) ^
      (TABLES[768 + (high & 255)] as number) ^
      (TABLES[512 + ((high >>> 8) & 255)] as number) ^
      (TABLES[256 + ((high >>> 16) & 255)] as number) ^
      (TABLES[high >>> 24] as number);
  }
  for (at += (words.length & ~1) * 4; at < to; at++) sum = turned(sum, bytes[at] as number);
  return ~sum >>> 0;
}

function turned(sum: number, byte: number): number {
  return (sum >>> 8) ^ (TABLES[(sum ^ byte) & 255] as number);
}
