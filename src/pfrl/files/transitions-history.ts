/** N-step transitions as a history: written from the oldest on, and read again. */

import { drawable } from "../../core/errors.ts";
import { mustBe } from "../../error.ts";
import { EPISODE_END, FORM, ITEM, STATE, STEP } from "../../store/format/kinds.ts";
import { encodeTagged } from "../../store/index.ts";
import { formBytes, type HistoryForm, type HistoryState, itemBytes, NOTHING, type Write, writeNothing } from "../store/history.ts";
import type { Priorities } from "../store/priorities.ts";
import { damaged } from "../store/step-bytes.ts";
import { Streams } from "../store/streams.ts";
import type { Made, Transitions } from "../store/transitions.ts";
import type { Content } from "./files.ts";
import type { WholeSink } from "./saving.ts";
import type { Progress } from "./work.ts";

/** Items between two reports. */
const CHUNK = 1024;

/** An episode that is written: its number in the file, and its step that came last. */
interface Written {
  readonly number: number;
  last: number;
}

/** All stored items, without the running episodes: a row once, however many items have it. */
export function* writeTransitions({ made, options }: Transitions, priorities: Priorities | undefined, write: Write): Generator<Progress, void> {
  if (made === undefined) return writeNothing(write);
  const { items, records, spec, steps } = made;
  const { engine } = steps;
  const slots = items.slots();
  write(FORM, 0, formBytes({ family: "transitions", numSteps: options.numSteps, spec }));
  const state: HistoryState = { count: slots.length, random: items.randomState, ...priorities?.saved(items) };
  write(STATE, 0, encodeTagged(state, "state"));
  const episodes = new Map<number, Written>();
  let numbers = 0;
  for (const [done, slot] of slots.entries()) {
    const rows = items.rowsOf(slot);
    const episode = engine.episodeOf(rows[0] as number);
    const written = episodes.get(episode) ?? { number: numbers++, last: 0 };
    episodes.set(episode, written);
    for (let i = rows.lastIndexOf(written.last) + 1; i < rows.length; i++) {
      const row = rows[i] as number;
      write(STEP, written.number, records.write(row, written.last));
      written.last = row;
    }
    write(ITEM, written.number, itemBytes(rows.length, items.priorityOf(slot)));
    // The last item of an episode is its last step alone.
    if (rows.length === 1 && engine.isLast(written.last)) {
      write(EPISODE_END, written.number, NOTHING);
      episodes.delete(episode);
    }
    if (done % CHUNK === CHUNK - 1) yield { done, of: slots.length };
  }
}

/** What files say is put beside what a buffer has; `finish` takes it over. */
export class TransitionsSink implements WholeSink {
  readonly #store: Transitions;
  readonly #priorities: Priorities | undefined;
  readonly #opening: { readonly max: number } | undefined;
  #made: Made | undefined;
  #streams: Streams | undefined;
  #state: HistoryState | undefined;
  #empty = false;

  /** @param opening where a directory is opened: how many there are at most */
  constructor(store: Transitions, priorities: Priorities | undefined, opening?: { readonly max: number }) {
    this.#store = store;
    this.#priorities = priorities;
    this.#opening = opening;
  }

  form(form: HistoryForm): void {
    if (form.family !== "transitions") throw mustBe("SPEC_MISMATCH", "the file", "of transitions", `one of ${form.family}`);
    this.#streams?.endAll();
    if (this.#made === undefined) this.#made = this.#store.beside(form.spec, this.#opening?.max);
    else if (JSON.stringify(this.#made.spec) !== JSON.stringify(form.spec))
      throw mustBe("SPEC_MISMATCH", "the file's transitions", `of the spec ${JSON.stringify(this.#made.spec)}`, JSON.stringify(form.spec));
    this.#streams = new Streams(this.#made.steps, form.numSteps);
  }

  step(episode: number, payload: Uint8Array, alone: boolean): void {
    const { items, records } = this.#known();
    const env = (this.#streams as Streams).of(episode);
    records.read(env, payload);
    if (!alone) return;
    items.reserve(1);
    items.insert(env.stream, 1, 1);
  }

  item(episode: number, length: number, priority: number): void {
    const { items } = this.#known();
    const env = (this.#streams as Streams).known(episode);
    if (env === undefined || length < 1 || length > env.length || !(priority >= 0)) throw damaged("an item without its steps");
    items.reserve(1);
    items.insert(env.stream, length, this.#store.options.prioritized ? drawable(priority) : 1);
  }

  end(episode: number, priority: number | undefined): void {
    const env = this.#streams?.known(episode);
    if (priority !== undefined) throw damaged("a whole episode");
    // It may have begun in another file.
    if (env !== undefined) (this.#streams as Streams).end(env);
  }

  state(state: HistoryState): void {
    this.#state = state;
    if (this.#empty) return;
    const { items } = this.#known();
    const { count, slots, high = 0 } = state;
    items.reserve(count);
    if (slots !== undefined && this.#store.options.prioritized && slots.length <= high && slots.length >= count) items.arrange({ slots, high });
  }

  random(bytes: Uint8Array): void {
    this.#known().items.randomState = bytes;
  }

  clear(): void {
    const made = this.#made ?? this.#store.made;
    this.#empty = true;
    this.#streams?.endAll();
    this.#made?.items.close();
    this.#made = made && this.#store.beside(made.spec, this.#opening?.max, made);
  }

  /** Items that came in so far, and are there. */
  get size(): number {
    return this.#made?.items.size ?? 0;
  }

  /** Takes it over. @throws ReplayError CORRUPT where it is not whole */
  finish(): void {
    // Where there was nothing yet there is no spec.
    if ((this.#empty || this.#opening !== undefined) && this.#made === undefined) return;
    const made = this.#known();
    const state = this.#state;
    if (state !== undefined && state.count !== made.items.size) throw damaged("other items than it says");
    this.#streams?.endAll();
    if (state !== undefined && !this.#empty) made.items.randomState = state.random;
    this.#store.adopt(made);
    if (state !== undefined) this.#priorities?.restore(made.items, state);
  }

  /** Gives it up. */
  cancel(): void {
    this.#streams?.endAll();
    this.#made?.items.close();
  }

  #known(): Made {
    if (this.#made === undefined) throw damaged("steps before their spec");
    return this.#made;
  }
}

/** What `save` and `load` need of a buffer. */
export function contentOfTransitions(store: Transitions, priorities: Priorities | undefined): Content {
  return {
    write: (write) => writeTransitions(store, priorities, write),
    sink: () => new TransitionsSink(store, priorities),
    get changes() {
      return store.changes;
    },
  };
}
