/** Typed arrays by what they are born with: what a subclass or a proxy says in its place does not count. */

function inborn<T>(key: string | symbol): (this: unknown) => T {
  return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), key)?.get as (this: unknown) => T;
}
const TAG = inborn<string | undefined>(Symbol.toStringTag);
const LENGTH = inborn<number>("length");
const BUFFER = inborn<ArrayBuffer>("buffer");
const OFFSET = inborn<number>("byteOffset");

/** The class name of a typed array, also of subclasses and from other realms; undefined of anything else. */
export function kindOf(value: unknown): string | undefined {
  return TAG.call(value);
}

/** Elements of a typed array that are there: none where its memory was transferred. */
export function typedLength(array: ArrayBufferView): number {
  return LENGTH.call(array);
}

const AT = Uint8Array.prototype.at;

/** Whether an array's memory is not there any more: it was transferred, or has shrunk. An array of no elements is none of these. */
export function isGone(array: ArrayBufferView): boolean {
  if (typedLength(array) > 0) return false;
  try {
    AT.call(array as Uint8Array, 0);
    return false;
  } catch {
    return true;
  }
}

/** A view of ours on the first elements of an array; its length is 0 once their memory is gone. */
export function ownView<T>(array: ArrayBufferView, kind: new (buffer: ArrayBuffer, byteOffset: number, length: number) => T, length: number): T {
  return new kind(BUFFER.call(array), OFFSET.call(array), length);
}
