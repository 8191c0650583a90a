/** One way through what is there at once and through what is waited for. What is there at once stays so: no promise and no await a value. */
import { mustBe } from "../../base/error.ts";
import type { Each } from "./dataset.ts";

/** What is made of values on their way; a new one for each time through. */
export interface Stage<T, U> {
  /** Puts what comes of one more value into `out`; false: nothing more is wanted, and the source is closed. */
  push(value: T, out: U[]): boolean | undefined;
  /** Puts into `out` what is left when there are no more values. Not called after `push` said false. */
  end?(out: U[]): void;
}

/** Whether it can be gone through without waiting. What can be gone through both ways is. */
export function isSync<T>(each: Each<T>): each is Iterable<T> {
  return typeof (each as Iterable<T>)[Symbol.iterator] === "function";
}

/** A value that can be gone through, and is no text. @throws TypeError */
export function eachOf<T>(subject: string, value: Each<T>): Each<T> {
  const found = value as Partial<Iterable<T> & AsyncIterable<T>> | null | undefined;
  if (typeof value === "object" && (found?.[Symbol.iterator] ?? found?.[Symbol.asyncIterator]) !== undefined) return value;
  throw mustBe(TypeError, subject, "an iterable or an async iterable", value);
}

/** Calls `visit` with each value and its number until it says false. A promise only where values are waited for. */
export function forEach<T>(each: Each<T>, visit: (value: T, index: number) => unknown): Promise<void> | undefined {
  if (!isSync(each)) return forEachLater(each, visit);
  let index = 0;
  for (const value of each) if (visit(value, index++) === false) break;
  return undefined;
}

async function forEachLater<T>(each: AsyncIterable<T>, visit: (value: T, index: number) => unknown): Promise<void> {
  let index = 0;
  for await (const value of each) if (visit(value, index++) === false) break;
}

/** All values in an array; an array is given as it is. */
export function collected<T>(each: Each<T>): readonly T[] | Promise<readonly T[]> {
  if (Array.isArray(each)) return each;
  const values: T[] = [];
  const push = (value: T): void => {
    values.push(value);
  };
  return forEach(each, push)?.then(() => values) ?? values;
}

/** Each value, changed. Lazy; can be gone through as often as `each`. */
export function mapped<T, U>(each: Each<T>, change: (value: T, index: number) => U): Each<U> {
  if (isSync(each)) {
    return {
      *[Symbol.iterator]() {
        let index = 0;
        for (const value of each) yield change(value, index++);
      },
    };
  }
  return {
    async *[Symbol.asyncIterator]() {
      let index = 0;
      for await (const value of each) yield change(value, index++);
    },
  };
}

/** What a stage makes of the values. Lazy; can be gone through as often as `each`. Whoever breaks off closes the source. */
export function through<T, U>(each: Each<T>, stage: () => Stage<T, U>): Each<U> {
  if (isSync(each)) return { [Symbol.iterator]: () => passed(each, stage()) };
  return { [Symbol.asyncIterator]: () => passedLater(each, stage()) };
}

function* passed<T, U>(each: Iterable<T>, stage: Stage<T, U>): Generator<U, void, undefined> {
  const out: U[] = [];
  for (const value of each) {
    const more = stage.push(value, out);
    if (out.length > 0) yield* out.splice(0);
    if (more === false) return;
  }
  stage.end?.(out);
  yield* out;
}

async function* passedLater<T, U>(each: AsyncIterable<T>, stage: Stage<T, U>): AsyncGenerator<U, void, undefined> {
  const out: U[] = [];
  for await (const value of each) {
    const more = stage.push(value, out);
    for (const made of out.splice(0)) yield made;
    if (more === false) return;
  }
  stage.end?.(out);
  for (const made of out) yield made;
}
