/** One traversal of a dataset's episodes: it can be stopped, yields to other tasks, and reports its progress. */
import { mustBe } from "../../base/error.ts";
import type { MaybeAsyncIterable, RldsEpisode } from "./dataset.ts";
import { checkIterable, isSync } from "./maybe-async.ts";

/** Options of every traversal of a whole dataset. */
export interface PassOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode, with the sums so far. */
  readonly onProgress?: (progress: { readonly episodes: number; readonly steps: number }) => void;
}

/** Steps between two pauses: some hundredths of a second of work. */
const STEPS_PER_PAUSE = 1 << 16;

export class Pace {
  readonly #options: PassOptions;
  #episodes = 0;
  #steps = 0;
  #pausedAt = 0;

  /** @throws what the signal says */
  constructor(options: PassOptions) {
    this.#options = options;
    options.signal?.throwIfAborted();
  }

  /** An episode is done; a promise now and then, so that timers and a signal get their turn. @throws what the signal says */
  after(steps: number): Promise<void> | undefined {
    const { signal, onProgress } = this.#options;
    signal?.throwIfAborted();
    this.#episodes++;
    this.#steps += steps;
    onProgress?.({ episodes: this.#episodes, steps: this.#steps });
    if (this.#steps - this.#pausedAt < STEPS_PER_PAUSE) return undefined;
    this.#pausedAt = this.#steps;
    return yieldToEventLoop(signal);
  }
}

/** Lets timers and a signal have their turn. @throws what the signal says */
export async function yieldToEventLoop(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal?.throwIfAborted();
}

/** @throws TypeError for what is no episode */
export function checkEpisode<S>(episode: RldsEpisode<S>, index: number): RldsEpisode<S> {
  if (typeof episode !== "object" || episode === null) throw mustBe(TypeError, `episode ${index}`, "an object with steps", episode);
  checkIterable(`steps of episode ${index}`, episode.steps);
  return episode;
}

/** Steps that are waited for can be called off between any two of them. */
export function abortable<T>(steps: MaybeAsyncIterable<T>, signal: AbortSignal | undefined): MaybeAsyncIterable<T> {
  if (signal === undefined || isSync(steps)) return steps;
  return {
    async *[Symbol.asyncIterator]() {
      for await (const step of steps) {
        signal.throwIfAborted();
        yield step;
      }
    },
  };
}
