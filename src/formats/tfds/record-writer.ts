/** TFRecord's framing: length u64, its checksum, the data, their checksum; all little endian, checksums masked CRC-32C. */
import { maskedCrc32c } from "./crc32c.ts";

/** Bytes of a record beside its data. */
export const OVERHEAD = 16;

/** A whole record in an array of its own. */
export function recordOf(data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + OVERHEAD);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc32c(bytes, 0, 8), true);
  bytes.set(data, 12);
  view.setUint32(12 + data.length, maskedCrc32c(data), true);
  return bytes;
}
