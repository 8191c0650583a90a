/** For assertions: what a batch shows is not in fields of its own. */
import { expect } from "vitest";

const shown = (value: unknown): object | undefined => {
  const { detached } = (value ?? {}) as { readonly detached?: unknown };
  return typeof detached === "function" ? (detached.call(value) as object) : undefined;
};

expect.addEqualityTesters([
  function (one, other) {
    const [a, b] = [shown(one), shown(other)];
    return a === undefined || b === undefined ? undefined : this.equals(a, b);
  },
]);
