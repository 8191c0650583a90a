/** One pass over a dataset's episodes: it can be called off, lets others have the processor, and says how far it is. */
import { mustBe } from "../../base/error.ts";
import type { Each, RldsEpisode } from "./dataset.ts";
import { eachOf, isSync } from "./each.ts";

/** Options of whatever goes through a whole dataset. */
export interface PassOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode, with the sums so far. */
  readonly onProgress?: (progress: { readonly episodes: number; readonly steps: number }) => void;
}

/** Steps between two pauses: some hundredths of a second of work. */
const STRETCH = 1 << 16;

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
    if (this.#steps - this.#pausedAt < STRETCH) return undefined;
    this.#pausedAt = this.#steps;
    return turn(signal);
  }
}

/** Lets timers and a signal have their turn. @throws what the signal says */
export async function turn(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal?.throwIfAborted();
}

/** @throws TypeError for what is no episode */
export function checkedEpisode<S>(episode: RldsEpisode<S>, index: number): RldsEpisode<S> {
  if (typeof episode !== "object" || episode === null) throw mustBe(TypeError, `episode ${index}`, "an object with steps", episode);
  eachOf(`steps of episode ${index}`, episode.steps);
  return episode;
}

/** Steps that are waited for can be called off between any two of them. */
export function abortable<T>(steps: Each<T>, signal: AbortSignal | undefined): Each<T> {
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
