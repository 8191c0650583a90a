/** Runs tasks in slices, either without pauses, or with pauses in which other tasks can run and a signal can stop the task. */
import { mustBe, onlyKeys } from "../../base/error.ts";
import { checkSignal } from "../../base/wait.ts";

export interface Progress {
  readonly done: number;
  readonly of: number;
}

export interface WorkOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** The time in milliseconds after which a slice ends, so that other tasks can run. A slice may take slightly longer. */
const SLICE_MS = 8;

/** Runs a whole task without pauses. */
export function runSync<T>(task: Generator<Progress, T>): T {
  let next = task.next();
  while (!next.done) next = task.next();
  return next.value;
}

/** Runs a task in slices between which other tasks can run. @throws the signal's reason, after the task was abandoned */
export async function runIncrementally<T>(task: Generator<Progress, T>, options: WorkOptions): Promise<T> {
  try {
    const { signal, onProgress } = onlyKeys("options", options, "signal, onProgress");
    checkSignal(signal);
    if (onProgress !== undefined && typeof onProgress !== "function") throw mustBe(TypeError, "onProgress", "a function", onProgress);
    signal?.throwIfAborted();
    for (let deadline = performance.now() + SLICE_MS, next = task.next(); ; next = task.next()) {
      if (next.done) return next.value;
      onProgress?.(next.value);
      signal?.throwIfAborted();
      if (performance.now() < deadline) continue;
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
      deadline = performance.now() + SLICE_MS;
    }
  } finally {
    // If the task is unfinished, its `finally` blocks run now.
    task.return(undefined as T);
  }
}
