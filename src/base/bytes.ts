/** Makes views of bytes, and joins arrays into a new array. */

/** Returns a view of bytes, for numbers of any width at any offset. */
export function dataView(bytes: Uint8Array, from = 0, length: number = bytes.length - from): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset + from, length);
}

/** Joins bytes into a new array. O(bytes) */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return setAll(new Uint8Array(totalLength(parts)), parts);
}

/** Joins arrays of one class, typed or plain, into a new array. O(elements) @param parts at least one */
export function concatArrays<A extends ArrayLike<unknown>>(parts: readonly A[]): A {
  const [first] = parts as readonly [A];
  if (Array.isArray(first)) return (parts as unknown as readonly unknown[][]).flat() as unknown as A;
  return setAll(new (first.constructor as new (length: number) => A & Target)(totalLength(parts)), parts);
}

interface Target {
  set(part: ArrayLike<never>, at: number): void;
}

/** Copies parts one after the other into a typed array with room for all of them. @returns that array */
export function setAll<T extends Target>(target: T, parts: readonly ArrayLike<unknown>[]): T {
  let at = 0;
  for (const part of parts) {
    target.set(part as ArrayLike<never>, at);
    at += part.length;
  }
  return target;
}

/** Returns the number of elements of all parts together. */
export function totalLength(parts: readonly ArrayLike<unknown>[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
