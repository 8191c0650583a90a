/** Implements PFRL buffers naively: lists of steps, each with a number. */

export interface TwinStep {
  readonly id: number;
  readonly terminal: boolean;
}

/** Creates n-step transitions with a deque of the last steps of each environment. */
export class TwinTransitions {
  readonly items: number[][] = [];
  readonly windows = new Map<unknown, number[]>();
  readonly #capacity: number;
  readonly #numSteps: number;

  constructor(capacity: number, numSteps: number) {
    this.#capacity = capacity;
    this.#numSteps = numSteps;
  }

  append(env: unknown, { id, terminal }: TwinStep): void {
    const last = this.windows.get(env) ?? [];
    this.windows.set(env, last);
    last.push(id);
    if (last.length > this.#numSteps) last.shift();
    if (terminal) {
      while (last.length > 0) {
        this.#store([...last]);
        last.shift();
      }
    } else if (last.length === this.#numSteps) this.#store([...last]);
    if (last.length === 0) this.windows.delete(env);
  }

  stop(env: unknown): void {
    const last = this.windows.get(env) ?? [];
    if (last.length === this.#numSteps) last.shift();
    while (last.length > 0) {
      this.#store([...last]);
      last.shift();
    }
    this.windows.delete(env);
  }

  /** The number of distinct steps in items and windows. */
  get held(): number {
    return new Set([...this.items, ...this.windows.values()].flat()).size;
  }

  #store(item: number[]): void {
    this.items.push(item);
    while (this.items.length > this.#capacity) this.items.shift();
  }
}

/** Stores whole episodes, and their transitions. */
export class TwinEpisodes {
  readonly episodes: number[][] = [];
  readonly memory: number[] = [];
  readonly windows = new Map<unknown, number[]>();
  readonly #capacity: number;
  readonly #together: boolean;

  /** @param together whether the transitions of an episode are removed together with it */
  constructor(capacity: number, together: boolean) {
    this.#capacity = capacity;
    this.#together = together;
  }

  append(env: unknown, { id, terminal }: TwinStep): void {
    this.windows.set(env, [...(this.windows.get(env) ?? []), id]);
    if (terminal) this.stop(env);
  }

  stop(env: unknown): void {
    const episode = this.windows.get(env);
    if (episode === undefined) return;
    this.windows.delete(env);
    this.episodes.push(episode);
    this.memory.push(...episode);
    while (this.episodes.flat().length > this.#capacity) {
      const gone = this.episodes.shift() as number[];
      if (this.#together) this.memory.splice(0, gone.length);
    }
    while (!this.#together && this.memory.length > this.#capacity) this.memory.shift();
  }

  get held(): number {
    return new Set([...this.episodes.flat(), ...this.memory, ...[...this.windows.values()].flat()]).size;
  }
}
