/** Clears the times in the headers of HDF5 objects (HDF5 File Format Specification, section IV.A.1.b). */

/** The signature "OHDR" of an object header, as a little-endian number of 4 bytes. */
const SIGNATURE = 0x5244484f;
const VERSION = 2;
const [HAS_PHASES, HAS_TIMES] = [0x10, 0x20];

/**
 * Sets the times of all objects to 0, so that the same data produces the same bytes. h5wasm has no option to omit the times. Data that only looks like a header
 * is not changed, because it does not have a valid checksum.
 */
export function clearTimes(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = bytes.indexOf(SIGNATURE & 0xff); at >= 0 && at + 8 <= bytes.length; at = bytes.indexOf(SIGNATURE & 0xff, at + 1)) {
    if (view.getUint32(at, true) !== SIGNATURE || bytes[at + 4] !== VERSION) continue;
    const flags = bytes[at + 5] as number;
    const sizeBytes = 1 << (flags & 3);
    const sizeAt = at + 6 + ((flags & HAS_TIMES) === 0 ? 0 : 16) + ((flags & HAS_PHASES) === 0 ? 0 : 4);
    if ((flags & HAS_TIMES) === 0 || sizeBytes > 4 || sizeAt + sizeBytes > bytes.length) continue;
    const size = sizeBytes === 4 ? view.getUint32(sizeAt, true) : sizeBytes === 2 ? view.getUint16(sizeAt, true) : (bytes[sizeAt] as number);
    const end = sizeAt + sizeBytes + size;
    if (end + 4 > bytes.length || view.getUint32(end, true) !== lookup3(view, at, end)) continue;
    bytes.fill(0, at + 6, at + 22);
    view.setUint32(end, lookup3(view, at, end), true);
  }
}

const rotated = (x: number, bits: number): number => (x << bits) | (x >>> (32 - bits));

/** Computes the checksum of HDF5's metadata, which is Jenkins's lookup3 (hashlittle with the initial value 0). */
function lookup3(view: DataView, from: number, to: number): number {
  const start = (0xdeadbeef + (to - from)) | 0;
  let [a, b, c] = [start, start, start];
  let at = from;
  for (; to - at > 12; at += 12) {
    a = (a + view.getUint32(at, true)) | 0;
    b = (b + view.getUint32(at + 4, true)) | 0;
    c = (c + view.getUint32(at + 8, true)) | 0;
    a = ((a - c) ^ rotated(c, 4)) | 0;
    c = (c + b) | 0;
    b = ((b - a) ^ rotated(a, 6)) | 0;
    a = (a + c) | 0;
    c = ((c - b) ^ rotated(b, 8)) | 0;
    b = (b + a) | 0;
    a = ((a - c) ^ rotated(c, 16)) | 0;
    c = (c + b) | 0;
    b = ((b - a) ^ rotated(a, 19)) | 0;
    a = (a + c) | 0;
    c = ((c - b) ^ rotated(b, 4)) | 0;
    b = (b + a) | 0;
  }
  const rest = [0, 0, 0];
  for (let i = 0; at + i < to; i++) rest[i >> 2] = (rest[i >> 2] as number) | (view.getUint8(at + i) << (8 * (i & 3)));
  a = (a + (rest[0] as number)) | 0;
  b = (b + (rest[1] as number)) | 0;
  c = (c + (rest[2] as number)) | 0;
  c = ((c ^ b) - rotated(b, 14)) | 0;
  a = ((a ^ c) - rotated(c, 11)) | 0;
  b = ((b ^ a) - rotated(a, 25)) | 0;
  c = ((c ^ b) - rotated(b, 16)) | 0;
  a = ((a ^ c) - rotated(c, 4)) | 0;
  b = ((b ^ a) - rotated(a, 14)) | 0;
  c = ((c ^ b) - rotated(b, 24)) | 0;
  return c >>> 0;
}
