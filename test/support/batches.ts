/** For assertions: what a batch shows is not in fields of its own. */
import { expect } from "vitest";

const shown = (value: unknown): object | undefined => {
  const { detached } = (value ?? {}) as { readonly detached?: unknown };
  return typeof detached === "function" ? (detached.call(value) as object) : undefined;
};

// Setup files run once per test file. A worker that registers the tester again for each of its files compares more and more slowly.
const REGISTERED = Symbol.for("reprise: equality of batches");
const scope = globalThis as { [REGISTERED]?: true };

if (!scope[REGISTERED]) {
  scope[REGISTERED] = true;
  expect.addEqualityTesters([
    function (one, other) {
      const [a, b] = [shown(one), shown(other)];
      return a === undefined || b === undefined ? undefined : this.equals(a, b);
    },
  ]);
}
