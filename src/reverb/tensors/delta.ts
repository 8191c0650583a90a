/**
 * Encodes integers as deltas in place. The first step remains, and each other step becomes its difference from the preceding step, modulo the range of the
 * integers.
 */

type Unsigned = Uint8Array | Uint16Array | Uint32Array;

function toUnsigned(bytes: Uint8Array<ArrayBuffer>, width: number): Unsigned | BigUint64Array {
  const { buffer, byteOffset, length } = bytes;
  if (width === 8) return new BigUint64Array(buffer, byteOffset, length / 8);
  if (width === 4) return new Uint32Array(buffer, byteOffset, length / 4);
  return width === 2 ? new Uint16Array(buffer, byteOffset, length / 2) : bytes;
}

/** Replaces elements with their differences from the previous step. @param stepSize the number of elements per step @param width the number of bytes per element */
export function toDeltas(bytes: Uint8Array<ArrayBuffer>, width: number, stepSize: number): void {
  const values = toUnsigned(bytes, width);
  if (values instanceof BigUint64Array)
    for (let i = values.length - 1; i >= stepSize; i--) values[i] = (values[i] as bigint) - (values[i - stepSize] as bigint);
  else for (let i = values.length - 1; i >= stepSize; i--) values[i] = (values[i] as number) - (values[i - stepSize] as number);
}

/** Reverses `toDeltas`. */
export function fromDeltas(bytes: Uint8Array<ArrayBuffer>, width: number, stepSize: number): void {
  const values = toUnsigned(bytes, width);
  if (values instanceof BigUint64Array) for (let i = stepSize; i < values.length; i++) values[i] = (values[i] as bigint) + (values[i - stepSize] as bigint);
  else for (let i = stepSize; i < values.length; i++) values[i] = (values[i] as number) + (values[i - stepSize] as number);
}
