/** Provides operations for both sync and async iterables. A sync iterable remains sync, without a promise or await per value. */
import { mustBe } from "../../base/error.ts";
import type { MaybeAsyncIterable } from "./dataset.ts";

/** One step of a pipeline. Each iteration creates a new stage. */
export interface Stage<T, U> {
  /** Adds the results of one value to `output`. Returns false if no more values are needed. The source is then closed. */
  push(value: T, output: U[]): boolean | undefined;
  /** Adds the remaining results to `output` after the last value. Not called after `push` returned false. */
  end?(output: U[]): void;
}

/** Returns whether a value is a sync iterable. Returns true for an iterable that is both sync and async. */
export function isSync<T>(iterable: MaybeAsyncIterable<T>): iterable is Iterable<T> {
  return typeof (iterable as Iterable<T>)[Symbol.iterator] === "function";
}

/** Returns the value unchanged. @throws TypeError if the value is not iterable or is a string */
export function checkIterable<T>(subject: string, value: MaybeAsyncIterable<T>): MaybeAsyncIterable<T> {
  const candidate = value as Partial<Iterable<T> & AsyncIterable<T>> | null | undefined;
  if (typeof value === "object" && (candidate?.[Symbol.iterator] ?? candidate?.[Symbol.asyncIterator]) !== undefined) return value;
  throw mustBe(TypeError, subject, "an iterable or an async iterable", value);
}

/** Calls `visit` with each value and its index until `visit` returns false. Returns a promise only if the iterable is async. */
export function forEach<T>(iterable: MaybeAsyncIterable<T>, visit: (value: T, index: number) => unknown): Promise<void> | undefined {
  if (!isSync(iterable)) return forEachAsync(iterable, visit);
  let index = 0;
  for (const value of iterable) if (visit(value, index++) === false) break;
  return undefined;
}

async function forEachAsync<T>(iterable: AsyncIterable<T>, visit: (value: T, index: number) => unknown): Promise<void> {
  let index = 0;
  for await (const value of iterable) if (visit(value, index++) === false) break;
}

/** Returns all values as an array. An array is returned unchanged. */
export function collect<T>(iterable: MaybeAsyncIterable<T>): readonly T[] | Promise<readonly T[]> {
  if (Array.isArray(iterable)) return iterable;
  const values: T[] = [];
  const push = (value: T): void => {
    values.push(value);
  };
  return forEach(iterable, push)?.then(() => values) ?? values;
}

/** Applies `change` to each value. The result is lazy, and can be iterated as often as `iterable`. */
export function mapIterable<T, U>(iterable: MaybeAsyncIterable<T>, change: (value: T, index: number) => U): MaybeAsyncIterable<U> {
  if (isSync(iterable)) {
    return {
      *[Symbol.iterator]() {
        let index = 0;
        for (const value of iterable) yield change(value, index++);
      },
    };
  }
  return {
    async *[Symbol.asyncIterator]() {
      let index = 0;
      for await (const value of iterable) yield change(value, index++);
    },
  };
}

/** Passes the values through a stage. The result is lazy, and can be iterated as often as `iterable`. Breaking out of the loop closes the source. */
export function applyStage<T, U>(iterable: MaybeAsyncIterable<T>, stage: () => Stage<T, U>): MaybeAsyncIterable<U> {
  if (isSync(iterable)) return { [Symbol.iterator]: () => applySync(iterable, stage()) };
  return { [Symbol.asyncIterator]: () => applyAsync(iterable, stage()) };
}

function* applySync<T, U>(iterable: Iterable<T>, stage: Stage<T, U>): Generator<U, void, undefined> {
  const output: U[] = [];
  for (const value of iterable) {
    const more = stage.push(value, output);
    if (output.length > 0) yield* output.splice(0);
    if (more === false) return;
  }
  stage.end?.(output);
  yield* output;
}

async function* applyAsync<T, U>(iterable: AsyncIterable<T>, stage: Stage<T, U>): AsyncGenerator<U, void, undefined> {
  const output: U[] = [];
  for await (const value of iterable) {
    const more = stage.push(value, output);
    for (const result of output.splice(0)) yield result;
    if (more === false) return;
  }
  stage.end?.(output);
  for (const result of output) yield result;
}
