/** The steps of a file that is read, put into a buffer. */
import type { HistoryForm } from "../store/history.ts";
import { Lists } from "../store/lists.ts";
import { Records } from "../store/step-bytes.ts";
import { type EngineOptions, type Env, Steps } from "../store/steps.ts";
import { checkMixes, isSameSpec, type Made } from "../store/stored.ts";

export class FileSteps {
  readonly #made: Made;
  readonly #episodes: FileEpisodes;
  /** Where the extras are other ones: rows of the file's own, which are read value by value. */
  #foreign: { readonly episodes: FileEpisodes; readonly records: Records; readonly lists: Lists } | undefined;

  /** @throws ReplayError SPEC_MISMATCH for other states, actions or rewards */
  constructor(made: Made, { spec, numSteps }: HistoryForm, engine: EngineOptions) {
    this.#made = made;
    this.#episodes = new FileEpisodes(made.steps, numSteps);
    if (isSameSpec(made.spec, spec)) return;
    checkMixes(made.spec, spec);
    const steps = new Steps(spec, numSteps, engine);
    this.#foreign = { episodes: new FileEpisodes(steps, numSteps), records: new Records(steps), lists: new Lists(steps) };
  }

  /** One more step of an episode. @throws ReplayError CORRUPT, OUT_OF_MEMORY, SPEC_MISMATCH for extras that a given spec has no place for */
  read(number: number, payload: Uint8Array): Env {
    const { records, steps } = this.#made;
    const env = this.#episodes.of(number);
    if (this.#foreign === undefined) records.read(env, payload);
    else {
      const from = this.#foreign.episodes.of(number);
      this.#foreign.records.read(from, payload);
      for (const transition of this.#foreign.lists.transitions(Uint32Array.of(from.row))) steps.put(env, transition);
    }
    return env;
  }

  /** An episode that runs; undefined where there is none of the number. */
  known(number: number): Env | undefined {
    return this.#episodes.known(number);
  }

  /** An episode ended. It may have begun in another file. */
  end(number: number): void {
    this.#episodes.end(number);
    this.#foreign?.episodes.end(number);
  }

  endAll(): void {
    this.#episodes.endAll();
    this.#foreign = undefined;
  }
}

/** Episodes by their numbers in the file. */
class FileEpisodes {
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

  end(number: number): void {
    const env = this.#envs.get(number);
    if (env === undefined) return;
    this.#envs.delete(number);
    this.#steps.close(env);
  }

  endAll(): void {
    for (const number of [...this.#envs.keys()]) this.end(number);
  }
}
