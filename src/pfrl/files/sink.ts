/** What files say is put beside what a buffer has; `finish` takes it over. */
import { mustBe } from "../../error.ts";
import type { HistoryForm, HistoryState, Sink, Write } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import type { Env, Steps } from "../store/steps.ts";
import type { Made, Stored } from "../store/stored.ts";
import type { Progress } from "./work.ts";

/** What a buffer writes, and what reads it. */
export interface Content {
  write(write: Write): Generator<Progress, void>;
  sink(opening?: Opening): StoredSink;
}

/** Where a directory is opened: how many transitions there are at most. */
export interface Opening {
  readonly max: number;
}

export abstract class StoredSink<M extends Made = Made> implements Sink {
  protected readonly store: Stored<M>;
  protected readonly opening: Opening | undefined;
  #envs: FileEnvs | undefined;
  #made: M | undefined;
  #state: HistoryState | undefined;
  #empty = false;

  constructor(store: Stored<M>, opening?: Opening) {
    this.store = store;
    this.opening = opening;
  }

  abstract step(episode: number, payload: Uint8Array, alone: boolean): void;
  abstract item(episode: number, length: number, priority: number): void;
  abstract end(episode: number, priority: number | undefined): void;

  form(form: HistoryForm): void {
    const { family } = this.store.form(form);
    if (form.family !== family) throw mustBe("SPEC_MISMATCH", "the file", `of ${family}`, `one of ${form.family}`);
    this.#envs?.endAll();
    if (this.#made === undefined) this.#made = this.store.beside(form.spec, this.opening?.max);
    else if (JSON.stringify(this.#made.spec) !== JSON.stringify(form.spec))
      throw mustBe("SPEC_MISMATCH", "the file's transitions", `of the spec ${JSON.stringify(this.#made.spec)}`, JSON.stringify(form.spec));
    this.#envs = new FileEnvs(this.#made.steps, form.numSteps);
  }

  state(state: HistoryState): void {
    this.#state = state;
    if (this.#empty) return;
    const { items } = this.made;
    const { count, slots, high = 0 } = state;
    items.reserve(count);
    if (slots !== undefined && this.store.options.priorities !== undefined && slots.length <= high && slots.length >= count) items.arrange({ slots, high });
  }

  random(bytes: Uint8Array): void {
    this.made.items.randomState = bytes;
  }

  clear(): void {
    const made = this.#made ?? this.store.made;
    this.#empty = true;
    this.cancel();
    this.#made = undefined;
    this.#made = made && this.store.beside(made.spec, this.opening?.max, made);
  }

  /** Items that came in so far, and are there. */
  get size(): number {
    return this.#made?.items.size ?? 0;
  }

  /** Takes it over. @throws ReplayError CORRUPT where it is not whole */
  finish(): void {
    // Where there was nothing yet there is no spec.
    if ((this.#empty || this.opening !== undefined) && this.#made === undefined) return;
    const { made } = this;
    const state = this.#state;
    if (state !== undefined && state.count !== made.items.size) throw damaged("other items than it says");
    this.#envs?.endAll();
    if (state !== undefined && !this.#empty) made.items.randomState = state.random;
    this.store.adopt(made);
    if (state !== undefined) this.store.options.priorities?.restore(made.items, state);
  }

  /** Gives it up. */
  cancel(): void {
    this.#envs?.endAll();
    if (this.#made !== undefined) this.store.drop(this.#made);
  }

  /** A running episode; undefined where there is none of the number. */
  protected known(episode: number): Env | undefined {
    return this.#envs?.known(episode);
  }

  /** All of them. */
  protected get envs(): FileEnvs {
    if (this.#envs === undefined) throw damaged("steps before their spec");
    return this.#envs;
  }

  protected get made(): M {
    if (this.#made === undefined) throw damaged("steps before their spec");
    return this.#made;
  }
}

/** The episodes of a file that is read, by their numbers in it. */
class FileEnvs {
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
