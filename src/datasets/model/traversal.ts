/** Controls one pass over the episodes of a dataset. The pass can be stopped, yields to other tasks, and reports its progress. */
import { mustBe } from "../../base/error.ts";
import type { MaybeAsyncIterable, RldsEpisode } from "./dataset.ts";
import { checkIterable, isSync } from "./maybe-async.ts";

/** The options of every pass over a whole dataset. */
export interface PassOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode with the totals so far. */
  readonly onProgress?: (progress: { readonly episodes: number; readonly steps: number }) => void;
}

/** The number of steps between two pauses. Reading that many steps takes a few hundredths of a second. */
const STEPS_PER_PAUSE = 1 << 16;

export class Pace {
  readonly #options: PassOptions;
  #episodes = 0;
  #steps = 0;
  #pausedAt = 0;

  /** @throws the signal's reason, if it is aborted */
  constructor(options: PassOptions) {
    this.#options = options;
    options.signal?.throwIfAborted();
  }

  /**
   * Counts an episode that was read. Returns a promise from time to time, so that timers can run and the signal can abort.
   * @throws the signal's reason, if it is aborted
   */
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

/** Lets timers run, so the signal can abort. @throws the signal's reason, if it is aborted */
export async function yieldToEventLoop(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal?.throwIfAborted();
}

/** Returns the episode unchanged. @throws TypeError if the value is not an episode */
export function checkEpisode<S>(episode: RldsEpisode<S>, index: number): RldsEpisode<S> {
  if (typeof episode !== "object" || episode === null) throw mustBe(TypeError, `episode ${index}`, "an object with steps", episode);
  checkIterable(`steps of episode ${index}`, episode.steps);
  return episode;
}

/** Returns steps whose iteration the signal can abort before each step. Sync steps are returned unchanged. */
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
