/** Reads typed arrays with the built-in getters, which a subclass or a proxy cannot override. */

function getterOf<T>(key: string | symbol): (this: unknown) => T {
  return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), key)?.get as (this: unknown) => T;
}
const TAG = getterOf<string | undefined>(Symbol.toStringTag);
const LENGTH = getterOf<number>("length");
const BUFFER = getterOf<ArrayBuffer>("buffer");
const OFFSET = getterOf<number>("byteOffset");

/** Returns the class name of a typed array, including subclasses and arrays from other realms; undefined for other values. */
export function kindOf(value: unknown): string | undefined {
  return TAG.call(value);
}

/** Returns the number of elements of a typed array; 0 if its memory was transferred. */
export function typedLength(array: ArrayBufferView): number {
  return LENGTH.call(array);
}

const AT = Uint8Array.prototype.at;

/** Returns whether the memory of an array was transferred or shrunk. Returns false for an array that is only empty. */
export function isDetached(array: ArrayBufferView): boolean {
  if (typedLength(array) > 0) return false;
  try {
    AT.call(array as Uint8Array, 0);
    return false;
  } catch {
    return true;
  }
}

/** Returns a new view of the first elements of an array; its length becomes 0 when the memory is transferred. */
export function prefixView<T>(array: ArrayBufferView, kind: new (buffer: ArrayBuffer, byteOffset: number, length: number) => T, length: number): T {
  return new kind(BUFFER.call(array), OFFSET.call(array), length);
}
