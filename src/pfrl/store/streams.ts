/** The episodes of a file that is read, by their numbers in it. */
import type { Env, Steps } from "./steps.ts";

export class Streams {
  readonly #steps: Steps;
  readonly #keep: number;
  readonly #envs = new Map<number, Env>();

  /** @param keep steps of their windows; 0 for all */
  constructor(steps: Steps, keep: number) {
    this.#steps = steps;
    this.#keep = keep;
  }

  /** An episode, opened where there is none of the number. */
  of(number: number): Env {
    const known = this.#envs.get(number);
    if (known !== undefined) return known;
    const env = this.#steps.open(number, this.#keep);
    this.#envs.set(number, env);
    return env;
  }

  known(number: number): Env | undefined {
    return this.#envs.get(number);
  }

  end(env: Env): void {
    this.#envs.delete(env.id as number);
    this.#steps.close(env);
  }

  endAll(): void {
    for (const env of [...this.#envs.values()]) this.end(env);
  }
}
