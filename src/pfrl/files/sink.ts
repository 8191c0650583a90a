/** What files say is put beside what a buffer has; `finish` takes it over. */
import { mustBe } from "../../base/error.ts";
import type { HistoryForm, HistoryState, Sink, Write } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import type { Made, Stored } from "../store/stored.ts";
import { FileSteps } from "./file-steps.ts";
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
  #steps: FileSteps | undefined;
  #made: M | undefined;
  #state: HistoryState | undefined;
  /** What was told of it last, apart from a state. */
  #random: Uint8Array | undefined;
  #cleared = false;

  constructor(store: Stored<M>, opening?: Opening) {
    this.store = store;
    this.opening = opening;
  }

  abstract step(episode: number, payload: Uint8Array, alone: boolean): void;
  abstract item(episode: number, length: number, priority: number): void;
  abstract end(episode: number, priority: number | undefined): void;

  form(form: HistoryForm): void {
    const { options } = this.store;
    const family = options.numSteps === 0 ? "episodes" : "transitions";
    if (form.family !== family) throw mustBe("SPEC_MISMATCH", "the file", `of ${family}`, `one of ${form.family}`);
    this.#steps?.endAll();
    this.#made ??= this.store.beside(form.spec, this.opening?.max);
    this.#steps = new FileSteps(this.#made, form, options.engine);
  }

  state(state: HistoryState): void {
    this.#state = state;
    if (this.#cleared) return;
    const { items } = this.made;
    const { count, slots, high = 0 } = state;
    items.reserve(count);
    if (slots !== undefined && this.store.options.priorities !== undefined && slots.length <= high && slots.length >= count) items.arrange({ slots, high });
  }

  random(bytes: Uint8Array): void {
    this.#random = bytes.slice();
  }

  clear(): void {
    this.cancel();
    this.#steps = undefined;
    this.#made = undefined;
    this.#state = undefined;
    this.#random = undefined;
    this.#cleared = true;
  }

  /** Items that came in so far, and are there. */
  get size(): number {
    return this.#made?.items.size ?? 0;
  }

  /** Takes it over. @throws ReplayError CORRUPT where it is not whole */
  finish(): void {
    const { store } = this;
    const state = this.#state;
    if (this.#made === undefined) {
      // A directory may have nothing yet, and a file too: then there is no spec.
      if (this.opening === undefined && !this.#cleared) throw damaged("no spec");
      if ((state?.count ?? 0) !== 0) throw damaged("other items than it says");
      if (store.made === undefined) return;
      this.#made = store.beside(store.made.spec, this.opening?.max);
    }
    const made = this.#made;
    if (state !== undefined && state.count !== made.items.size) throw damaged("other items than it says");
    this.#steps?.endAll();
    const random = this.#cleared ? this.#random : (state?.random ?? this.#random);
    if (random !== undefined) made.items.randomState = random;
    store.adopt(made);
    if (state !== undefined) store.options.priorities?.restore(made.items, state);
  }

  /** Gives it up. */
  cancel(): void {
    this.#steps?.endAll();
    if (this.#made !== undefined) this.store.drop(this.#made);
  }

  protected get steps(): FileSteps {
    if (this.#steps === undefined) throw damaged("steps before their spec");
    return this.#steps;
  }

  protected get made(): M {
    if (this.#made === undefined) throw damaged("steps before their spec");
    return this.#made;
  }
}
