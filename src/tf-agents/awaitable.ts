/** Runs tasks that may wait. A task is a generator that yields each promise it waits for, and receives the promise's value. */
import type { Awaitable } from "./writers/step-client.ts";

export type Task<T> = Generator<Promise<unknown>, T, unknown>;

/** Runs a task to completion. Returns its result, or a promise of the result if the task waits. */
export function toAwaitable<T>(task: Task<T>): Awaitable<T> {
  const first = task.next();
  return first.done ? first.value : finish(task, first);
}

async function finish<T>(task: Task<T>, first: IteratorResult<Promise<unknown>, T>): Promise<T> {
  let step = first;
  while (!step.done) {
    let value: unknown;
    try {
      value = await step.value;
    } catch (error) {
      step = task.throw(error);
      continue;
    }
    step = task.next(value);
  }
  return step.value;
}

export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | null | undefined)?.then === "function";
}
