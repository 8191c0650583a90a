/** Integers as differences of steps that follow each other: the first step as it is, all else modulo their width. In place. */

type Unsigned = Uint8Array | Uint16Array | Uint32Array;

function unsigned(bytes: Uint8Array<ArrayBuffer>, width: number): Unsigned | BigUint64Array {
  const { buffer, byteOffset, length } = bytes;
  if (width === 8) return new BigUint64Array(buffer, byteOffset, length / 8);
  if (width === 4) return new Uint32Array(buffer, byteOffset, length / 4);
  return width === 2 ? new Uint16Array(buffer, byteOffset, length / 2) : bytes;
}

/** @param each elements of a step; `width` their bytes */
export function toDeltas(bytes: Uint8Array<ArrayBuffer>, width: number, each: number): void {
  const values = unsigned(bytes, width);
  if (values instanceof BigUint64Array) for (let i = values.length - 1; i >= each; i--) values[i] = (values[i] as bigint) - (values[i - each] as bigint);
  else for (let i = values.length - 1; i >= each; i--) values[i] = (values[i] as number) - (values[i - each] as number);
}

/** The reverse. */
export function fromDeltas(bytes: Uint8Array<ArrayBuffer>, width: number, each: number): void {
  const values = unsigned(bytes, width);
  if (values instanceof BigUint64Array) for (let i = each; i < values.length; i++) values[i] = (values[i] as bigint) + (values[i - each] as bigint);
  else for (let i = each; i < values.length; i++) values[i] = (values[i] as number) + (values[i - each] as number);
}
