/** Models a stream: numbered steps, each with its episode, and a window of recent steps. */
export class TwinStream {
  /** The number of the newest step. The first step is 1. */
  newest = 0;
  /** The number of recent steps. */
  length = 0;
  readonly #keep: number;
  readonly #across: boolean;
  /** The episode of each step, by number. */
  readonly #episodes: number[] = [0];
  #episode = 0;
  #open = false;

  constructor(keep: number, across: boolean) {
    this.#keep = keep;
    this.#across = across;
  }

  append(): number {
    if (!this.#open) this.#episode++;
    this.#open = true;
    this.#episodes.push(this.#episode);
    this.length = Math.min(this.length + 1, this.#keep);
    return ++this.newest;
  }

  end(): void {
    this.#open = false;
    if (!this.#across) this.length = 0;
  }

  /** Returns the distinct episodes of a run of steps. */
  episodes(first: number, length: number): number[] {
    return [...new Set(this.#episodes.slice(first, first + length))];
  }

  /** Returns whether a step is among the recent steps. */
  holds(step: number): boolean {
    return step > this.newest - this.length && step <= this.newest;
  }
}
