/** Provides the iterations over buffers, which are endless draws or traversals in order. */

import { codeOf, mustBe } from "../../base/error.ts";
import type { Waiters } from "../../base/wait.ts";
import type { ElementSource } from "../../batch/iterate.ts";
import { lengthOf } from "../nest.ts";

/** Wraps a generator as an element source. */
export function toElementSource<E>(elements: Iterator<E, void>): ElementSource<E> {
  return { next: () => elements.next().value ?? undefined };
}

/** Yields the result of `change` for each element. */
export function* mapElements<E, F>(elements: Iterable<E>, change: (element: E) => F): Generator<F, void> {
  for (const element of elements) yield change(element);
}

/** Returns an endless source of draws. With a time limit, an async iteration waits until an element can be drawn. */
export function drawEndlessly<E>(draw: () => E, waiters: Waiters, timeoutMs: number | undefined): ElementSource<E> {
  if (timeoutMs === undefined) return { next: draw };
  const attempt = (): E | undefined => {
    try {
      return draw();
    } catch (error) {
      if (codeOf(error) === "EMPTY" || codeOf(error) === "TOO_FEW") return undefined;
      throw error;
    }
  };
  return {
    next: draw,
    later: async ({ signal }) => waiters.until(attempt, () => "the buffer could not provide a draw", { signal, timeoutMs }),
    ahead: attempt,
  };
}

/** Yields windows of n steps whose starts are `shift` steps apart. If `dropShort` is set, the short windows at the end are left out. */
export function* iterateWindows(steps: number, n: number, shift: number, dropShort: boolean): Generator<readonly [begin: number, end: number], void> {
  for (let begin = 0; begin < steps; begin += shift) {
    const end = Math.min(begin + n, steps);
    if (end - begin === n || !dropShort) yield [begin, end];
  }
}

/** Yields one value from each source in turn. Sources that have ended are skipped. */
export function* roundRobin<T>(sources: readonly Iterator<T, void>[]): Generator<T, void> {
  let remaining = [...sources];
  while (remaining.length > 0) {
    const next: Iterator<T, void>[] = [];
    for (const source of remaining) {
      const { done, value } = source.next();
      if (done) continue;
      next.push(source);
      yield value;
    }
    remaining = next;
  }
}

/**
 * Returns the result of a program's preprocessing function. The result must have as many steps as the sequence. If `exactly` is not set, fewer steps are also
 * allowed.
 */
export function preprocessItems(fn: (items: never) => unknown, items: unknown, steps: number, exactly: boolean): unknown {
  const result = fn(items as never);
  const length = lengthOf(result);
  if (length > steps || (exactly && length < steps))
    throw mustBe("SPEC_MISMATCH", "the result of sequencePreprocessFn", `${exactly ? "" : "at most "}${steps} steps long, like its argument`, length);
  return result;
}
