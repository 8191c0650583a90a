/** Defines equality for assertions: batches by their contents, and large arrays by their bytes. */
import { expect } from "vitest";

/** Returns the columns of a batch as own properties, because the columns of a batch are getters. */
const shown = (value: unknown): object | undefined => {
  const { detached } = (value ?? {}) as { readonly detached?: unknown };
  return typeof detached === "function" ? (detached.call(value) as object) : undefined;
};

const bytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => new Uint8Array(buffer, byteOffset, byteLength);

/** Returns true for arrays of one class with the same bytes. Other arrays are left to the usual comparison, which is slow but reports the difference. */
const haveSameBytes = (one: unknown, other: unknown): true | undefined => {
  if (!ArrayBuffer.isView(one) || !ArrayBuffer.isView(other) || one.constructor !== other.constructor) return undefined;
  return Buffer.compare(bytes(one), bytes(other)) === 0 ? true : undefined;
};

// Setup files run once per test file. If a worker registered the testers again for each of its files, comparisons would become slower and slower.
const REGISTERED = Symbol.for("reprise: testers of equality");
const scope = globalThis as { [REGISTERED]?: true };

if (!scope[REGISTERED]) {
  scope[REGISTERED] = true;
  expect.addEqualityTesters([
    haveSameBytes,
    function (one, other) {
      const [a, b] = [shown(one), shown(other)];
      return a === undefined || b === undefined ? undefined : this.equals(a, b);
    },
  ]);
}
