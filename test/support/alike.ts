/** Compares values like `toEqual`, but fast for long arrays. */
import { expect } from "vitest";

export function expectAlike(seen: unknown, wanted: unknown): void {
  // `toEqual` only reports the differences.
  if (!alike(seen, wanted)) expect(seen).toEqual(wanted);
}

/** Returns whether two values are equal. Arrays of numbers are compared bit by bit. */
function alike(a: unknown, b: unknown): boolean {
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) {
    const [x, y] = [a, b].map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)) as [Buffer, Buffer];
    return a.constructor === b.constructor && x.equals(y);
  }
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return Object.is(a, b);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && alike(a[key as never], b[key as never]));
}
