/** Typed arrays, read with the getters of the language, which a subclass or a proxy cannot override. */

function getterOf<T>(key: string | symbol): (this: unknown) => T {
  return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), key)?.get as (this: unknown) => T;
}
const TAG = getterOf<string | undefined>(Symbol.toStringTag);
const LENGTH = getterOf<number>("length");
const BUFFER = getterOf<ArrayBuffer>("buffer");
const OFFSET = getterOf<number>("byteOffset");

/** The class name of a typed array, also of subclasses and from other realms; undefined of anything else. */
export function kindOf(value: unknown): string | undefined {
  return TAG.call(value);
}

/** Elements of a typed array that are there: none where its memory was transferred. */
export function typedLength(array: ArrayBufferView): number {
  return LENGTH.call(array);
}

const AT = Uint8Array.prototype.at;

/** Whether the memory of an array is gone: it was transferred, or has shrunk. False for an array that is only empty. */
export function isDetached(array: ArrayBufferView): boolean {
  if (typedLength(array) > 0) return false;
  try {
    AT.call(array as Uint8Array, 0);
    return false;
  } catch {
    return true;
  }
}

/** A view of ours on the first elements of an array; its length is 0 once their memory is gone. */
export function prefixView<T>(array: ArrayBufferView, kind: new (buffer: ArrayBuffer, byteOffset: number, length: number) => T, length: number): T {
  return new kind(BUFFER.call(array), OFFSET.call(array), length);
}
