/** Writes TFRecord files for tests, independently of the package. Its checksum is computed bit by bit. */

export function crc32c(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
  }
  return ~sum >>> 0;
}

function masked(bytes: Uint8Array): number {
  const sum = crc32c(bytes);
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

/** @param length the stated length, if it differs from that of the data */
export function tfRecord(data: Uint8Array, length: number | bigint = data.length): Uint8Array {
  const record = new Uint8Array(data.length + 16);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt.asUintN(64, BigInt(length)), true);
  view.setUint32(8, masked(record.subarray(0, 8)), true);
  record.set(data, 12);
  view.setUint32(12 + data.length, masked(data), true);
  return record;
}

/** Returns the data of each record. The file must be valid. */
export function recordsIn(file: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(new DataView(file.buffer, file.byteOffset + at, 8).getBigUint64(0, true));
    found.push(file.slice(at + 12, at + 12 + length));
    at += length + 16;
  }
  return found;
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
