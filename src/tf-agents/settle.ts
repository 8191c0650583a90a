/** Work that may have to wait on the way: a generator that yields what it waits for, and is given what came of it. */
import type { Awaitable } from "./writers/step-client.ts";

export type Waiting<T> = Generator<Promise<unknown>, T, unknown>;

/** Runs it to its end: at once where it waits for nothing, else as a promise. */
export function settle<T>(work: Waiting<T>): Awaitable<T> {
  const first = work.next();
  return first.done ? first.value : finish(work, first);
}

async function finish<T>(work: Waiting<T>, first: IteratorResult<Promise<unknown>, T>): Promise<T> {
  let step = first;
  while (!step.done) {
    let value: unknown;
    try {
      value = await step.value;
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next(value);
  }
  return step.value;
}

export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | null | undefined)?.then === "function";
}
