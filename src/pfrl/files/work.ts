/** Work that goes on piece by piece: at once, or so that others can run and it can be given up. */
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

/** So long a piece may hold others up. */
const PIECE_MS = 8;

/** All of it, at once. */
export function atOnce<T>(work: Generator<Progress, T>): T {
  let next = work.next();
  while (!next.done) next = work.next();
  return next.value;
}

/** All of it, in pieces between which others run. @throws the signal's reason, once the work was given up */
export async function inPieces<T>(work: Generator<Progress, T>, options: WorkOptions): Promise<T> {
  try {
    const { signal, onProgress } = onlyKeys("options", options, "signal, onProgress");
    checkSignal(signal);
    if (onProgress !== undefined && typeof onProgress !== "function") throw mustBe(TypeError, "onProgress", "a function", onProgress);
    signal?.throwIfAborted();
    for (let until = performance.now() + PIECE_MS, next = work.next(); ; next = work.next()) {
      if (next.done) return next.value;
      onProgress?.(next.value);
      signal?.throwIfAborted();
      if (performance.now() < until) continue;
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
      until = performance.now() + PIECE_MS;
    }
  } finally {
    // Where it was not done, it ends here.
    work.return(undefined as T);
  }
}
