/** Adds the steps of a file to a buffer. */
import type { HistorySchema } from "../store/history.ts";
import { Records } from "../store/step-bytes.ts";
import { type EngineOptions, type Env, Steps } from "../store/steps.ts";
import { type BufferContents, checkMixes, isSameSpec } from "../store/stored.ts";
import { TransitionLists } from "../store/transition-lists.ts";

export class FileSteps {
  readonly #contents: BufferContents;
  readonly #episodes: FileEpisodes;
  /** If the file's extras differ from the buffer's, the file's steps are first stored here, and then converted one by one. */
  #foreign: { readonly episodes: FileEpisodes; readonly records: Records; readonly lists: TransitionLists } | undefined;

  /** @throws ReplayError SPEC_MISMATCH if the specs of states, actions or rewards differ */
  constructor(contents: BufferContents, { spec, numSteps }: HistorySchema, engine: EngineOptions) {
    this.#contents = contents;
    this.#episodes = new FileEpisodes(contents.steps, numSteps);
    if (isSameSpec(contents.spec, spec)) return;
    checkMixes(contents.spec, spec);
    const steps = new Steps(spec, numSteps, engine);
    this.#foreign = { episodes: new FileEpisodes(steps, numSteps), records: new Records(steps), lists: new TransitionLists(steps) };
  }

  /** Reads one more step of an episode. @throws ReplayError CORRUPT, OUT_OF_MEMORY, SPEC_MISMATCH for extras that the caller's spec does not have */
  read(number: number, payload: Uint8Array): Env {
    const { records, steps } = this.#contents;
    const env = this.#episodes.of(number);
    if (this.#foreign === undefined) records.read(env, payload);
    else {
      const from = this.#foreign.episodes.of(number);
      this.#foreign.records.read(from, payload);
      for (const transition of this.#foreign.lists.transitions(Uint32Array.of(from.row))) steps.appendConverted(env, transition);
    }
    return env;
  }

  /** Returns the open episode with the given number in the file, or undefined. */
  find(number: number): Env | undefined {
    return this.#episodes.find(number);
  }

  /** Ends an episode, which may have started in another file. */
  end(number: number): void {
    this.#episodes.end(number);
    this.#foreign?.episodes.end(number);
  }

  endAll(): void {
    this.#episodes.endAll();
    this.#foreign = undefined;
  }
}

/** The open episodes of a file, by their numbers in the file. */
class FileEpisodes {
  readonly #steps: Steps;
  readonly #keep: number;
  readonly #envs = new Map<number, Env>();

  /** @param keep the number of newest steps that each open episode keeps; 0 for all steps */
  constructor(steps: Steps, keep: number) {
    this.#steps = steps;
    this.#keep = keep;
  }

  /** Returns the episode with the given number in the file, and opens it if necessary. */
  of(number: number): Env {
    const existing = this.#envs.get(number);
    if (existing !== undefined) return existing;
    const env = this.#steps.open(number, this.#keep);
    this.#envs.set(number, env);
    return env;
  }

  find(number: number): Env | undefined {
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
