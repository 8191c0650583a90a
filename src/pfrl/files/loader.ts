/** Loads files into separate contents; `finish` replaces the buffer's contents with them. */
import { ReplayError } from "../../base/error.ts";
import type { HistoryLoader, HistorySchema, HistoryState, Write } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import type { BufferContents, Stored } from "../store/stored.ts";
import { FileSteps } from "./file-steps.ts";
import type { Progress } from "./incremental.ts";

/** Writes the contents of a buffer to a file, and creates the loader that reads them back. */
export interface Content {
  write(write: Write): Generator<Progress, void>;
  loader(opening?: Opening): StoreLoader;
}

/** The options for opening a directory: the maximum number of transitions. */
export interface Opening {
  readonly max: number;
}

export abstract class StoreLoader<M extends BufferContents = BufferContents> implements HistoryLoader {
  protected readonly store: Stored<M>;
  protected readonly opening: Opening | undefined;
  #steps: FileSteps | undefined;
  #contents: M | undefined;
  #state: HistoryState | undefined;
  /** The last random state that was stored separately, without the rest of the buffer's state. */
  #random: Uint8Array | undefined;
  #cleared = false;

  constructor(store: Stored<M>, opening?: Opening) {
    this.store = store;
    this.opening = opening;
  }

  abstract step(episode: number, payload: Uint8Array, isItem: boolean): void;
  abstract item(episode: number, length: number, priority: number): void;
  abstract end(episode: number, priority: number | undefined): void;

  schema(schema: HistorySchema): void {
    const { options } = this.store;
    const family = options.numSteps === 0 ? "episodes" : "transitions";
    if (schema.family !== family) throw new ReplayError("SPEC_MISMATCH", `the file must contain ${family}, got ${schema.family}`);
    this.#steps?.endAll();
    this.#contents ??= this.store.createSeparate(schema.spec, this.opening?.max);
    this.#steps = new FileSteps(this.#contents, schema, options.engine);
  }

  state(state: HistoryState): void {
    this.#state = state;
    if (this.#cleared) return;
    const { items } = this.contents;
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
    this.#contents = undefined;
    this.#state = undefined;
    this.#random = undefined;
    this.#cleared = true;
  }

  /** The number of loaded items that are still stored. */
  get size(): number {
    return this.#contents?.items.size ?? 0;
  }

  /** Replaces the buffer's contents with the loaded contents. @throws ReplayError CORRUPT if the data is incomplete */
  finish(): void {
    const { store } = this;
    const state = this.#state;
    if (this.#contents === undefined) {
      // If a directory is empty, or a file contains an empty buffer, the data has no spec.
      if (this.opening === undefined && !this.#cleared) throw damaged("it has no spec");
      if ((state?.count ?? 0) !== 0) throw damaged("it has more or fewer items than it declares");
      if (store.contents === undefined) return;
      this.#contents = store.createSeparate(store.contents.spec, this.opening?.max);
    }
    const contents = this.#contents;
    if (state !== undefined && state.count !== contents.items.size) throw damaged("it has more or fewer items than it declares");
    this.#steps?.endAll();
    const random = this.#cleared ? this.#random : (state?.random ?? this.#random);
    if (random !== undefined) contents.items.randomState = random;
    store.adopt(contents);
    if (state !== undefined) store.options.priorities?.restore(contents.items, state);
  }

  /** Discards the loaded data. */
  cancel(): void {
    this.#steps?.endAll();
    if (this.#contents !== undefined) this.store.drop(this.#contents);
  }

  protected get steps(): FileSteps {
    if (this.#steps === undefined) throw damaged("steps come before their spec");
    return this.#steps;
  }

  protected get contents(): M {
    if (this.#contents === undefined) throw damaged("steps come before their spec");
    return this.#contents;
  }
}
