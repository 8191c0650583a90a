/** Tasks that run in slices: all at once, or so that others can run and a signal can stop them. */
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

/** Milliseconds that one slice may block other tasks. */
const SLICE_MS = 8;

/** All of it, at once. */
export function runSync<T>(task: Generator<Progress, T>): T {
  let next = task.next();
  while (!next.done) next = task.next();
  return next.value;
}

/** All of it, in pieces between which others run. @throws the signal's reason, once the work was given up */
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
    // Where it was not done, it ends here.
    task.return(undefined as T);
  }
}
