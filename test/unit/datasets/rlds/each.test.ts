/** Tests iteration over sync and async iterables. */
import { expect, test } from "vitest";
import { applyStage, checkIterable, collect, forEach, mapIterable, type Stage } from "../../../../src/datasets/model/maybe-async.ts";
import { errorOf, expectError } from "../../../support/refused.ts";

/** Returns sync and async iterables of numbers, and a log of when their iterators are closed. */
function counted(n: number) {
  const log: string[] = [];
  const sync = {
    *[Symbol.iterator]() {
      try {
        for (let i = 0; i < n; i++) yield i;
      } finally {
        log.push("closed");
      }
    },
  };
  const later = {
    async *[Symbol.asyncIterator]() {
      yield* sync;
    },
  };
  return { log, sync, later };
}

/** Yields each value twice, except 3, after which it ends; then returns the count. */
const twice = (): Stage<number, string> => {
  let count = 0;
  return {
    push(value, out) {
      count++;
      if (value === 3) return false;
      out.push(`${value}`, `${value}`);
      return true;
    },
    end(out) {
      out.push(`${count} in all`);
    },
  };
};

test("sync iterables return results without a promise", () => {
  const { sync, log } = counted(3);
  const seen: number[] = [];
  expect(forEach(sync, (value, index) => void seen.push(value * 10 + index))).toBeUndefined();
  expect(seen).toEqual([0, 11, 22]);
  expect(collect(sync)).toEqual([0, 1, 2]);
  expect([...(mapIterable(sync, (value, index) => value + index) as Iterable<number>)]).toEqual([0, 2, 4]);
  const staged = applyStage(sync, twice) as Iterable<string>;
  for (let pass = 0; pass < 2; pass++) expect([...staged]).toEqual(["0", "0", "1", "1", "2", "2", "3 in all"]);
  expect(log.length).toBe(5);
});

test("async iterables return the same results through promises", async () => {
  const { later, log } = counted(3);
  const seen: number[] = [];
  await forEach(later, (value, index) => void seen.push(value * 10 + index));
  expect(seen).toEqual([0, 11, 22]);
  expect(await collect(later)).toEqual([0, 1, 2]);
  expect(await collect(mapIterable(later, (value, index) => value + index))).toEqual([0, 2, 4]);
  const staged = applyStage(later, twice);
  for (let pass = 0; pass < 2; pass++) expect(await collect(staged)).toEqual(["0", "0", "1", "1", "2", "2", "3 in all"]);
  expect(log.length).toBe(5);
});

test("collect returns an array without a copy", () => {
  const values = [1, 2];
  expect(collect(values)).toBe(values);
});

test("an early end closes the source, sync and async, even from a stage", async () => {
  const uses: ((numbers: Iterable<number> | AsyncIterable<number>) => unknown)[] = [
    (numbers) => forEach(numbers, (value) => value < 2),
    (numbers) => forEach(mapIterable(numbers, String), (value) => value !== "2"),
    (numbers) => forEach(applyStage(numbers, twice), (value) => value !== "2"),
    (numbers) => collect(applyStage(numbers, twice)),
  ];
  for (const use of uses) {
    const { sync, later, log } = counted(10);
    use(sync);
    expect(log).toEqual(["closed"]);
    await use(later);
    expect(log).toEqual(["closed", "closed"]);
  }
});

test("checkIterable throws a TypeError for text and for values that are not iterable", () => {
  for (const value of [undefined, null, 1, "text", {}, () => []])
    expectError(
      errorOf(() => checkIterable("steps", value as never)),
      TypeError,
      /^steps (must be|is required:) an iterable/,
    );
  expect(checkIterable("steps", [])).toEqual([]);
});
