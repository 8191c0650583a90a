/** Episodes as a history: written from the oldest on, and read again. */

import { drawable } from "../../core/errors.ts";
import { mustBe } from "../../error.ts";
import { EPISODE, EPISODE_END, FORM, STATE, STEP } from "../../store/format/kinds.ts";
import { encodeTagged } from "../../store/index.ts";
import type { EndedEpisodes, MadeEpisodes } from "../store/episodes.ts";
import { formBytes, type HistoryForm, type HistoryState, NOTHING, priorityBytes, type Write, writeNothing } from "../store/history.ts";
import type { Priorities } from "../store/priorities.ts";
import { damaged } from "../store/step-bytes.ts";
import { Streams } from "../store/streams.ts";
import type { Content } from "./files.ts";
import type { WholeSink } from "./saving.ts";
import type { Progress } from "./work.ts";

/** All stored episodes, without the running ones; and the single transitions whose episode has left. */
export function* writeEpisodes({ made }: EndedEpisodes, priorities: Priorities | undefined, write: Write): Generator<Progress, void> {
  if (made === undefined) return writeNothing(write);
  const { items, memory, spec, steps } = made;
  const slots = items.slots();
  write(FORM, 0, formBytes({ family: "episodes", numSteps: 0, spec }));
  const state: HistoryState = { count: slots.length, random: items.randomState, ...priorities?.saved(items) };
  write(STATE, 0, encodeTagged(state, "state"));
  const of = memory.length;
  const orphans = memory.rows(0, Math.max(0, of - items.steps));
  let number = 0;
  let done = 0;
  for (let from = 0; from < orphans.length; number++) {
    const episode = steps.engine.episodeOf(orphans[from] as number);
    let to = from + 1;
    while (to < orphans.length && steps.engine.episodeOf(orphans[to] as number) === episode) to++;
    writeEpisode(made, number, orphans.subarray(from, to), undefined, write);
    done += to - from;
    from = to;
    yield { done, of };
  }
  for (const slot of slots) {
    const rows = items.rowsOf(slot);
    writeEpisode(made, number++, rows, items.priorityOf(slot), write);
    done += rows.length;
    yield { done, of };
  }
}

/** The steps of an episode, and its end. @param priority undefined where it is no item */
export function writeEpisode({ records }: MadeEpisodes, number: number, rows: Uint32Array, priority: number | undefined, write: Write): void {
  let before = 0;
  for (const row of rows) {
    write(STEP, number, records.write(row, before));
    before = row;
  }
  if (priority === undefined) write(EPISODE_END, number, NOTHING);
  else write(EPISODE, number, priorityBytes(priority));
}

/** What files say is put beside what a buffer has; `finish` takes it over. */
export class EpisodesSink implements WholeSink {
  readonly #store: EndedEpisodes;
  readonly #priorities: Priorities | undefined;
  readonly #opening: { readonly max: number } | undefined;
  #made: MadeEpisodes | undefined;
  #streams: Streams | undefined;
  #state: HistoryState | undefined;
  #empty = false;

  /** @param opening where a directory is opened: how many transitions there are at most */
  constructor(store: EndedEpisodes, priorities: Priorities | undefined, opening?: { readonly max: number }) {
    this.#store = store;
    this.#priorities = priorities;
    this.#opening = opening;
  }

  form(form: HistoryForm): void {
    if (form.family !== "episodes") throw mustBe("SPEC_MISMATCH", "the file", "of episodes", `one of ${form.family}`);
    this.#streams?.endAll();
    if (this.#made === undefined) this.#made = this.#store.beside(form.spec, this.#opening?.max);
    else if (JSON.stringify(this.#made.spec) !== JSON.stringify(form.spec))
      throw mustBe("SPEC_MISMATCH", "the file's transitions", `of the spec ${JSON.stringify(this.#made.spec)}`, JSON.stringify(form.spec));
    this.#streams = new Streams(this.#made.steps, 0);
  }

  step(episode: number, payload: Uint8Array, alone: boolean): void {
    const { records } = this.#known();
    if (alone) throw damaged("a step that is an item");
    records.read((this.#streams as Streams).of(episode), payload);
  }

  item(): void {
    throw damaged("an item among episodes");
  }

  end(episode: number, priority: number | undefined): void {
    const { items, memory } = this.#known();
    const env = this.#streams?.known(episode);
    if (env === undefined || (priority !== undefined && !(priority >= 0))) throw damaged("the end of no episode");
    memory.reserve(env.length);
    items.reserve(1);
    memory.hold(env.stream);
    if (priority !== undefined) items.insert(env.stream, env.length, this.#store.options.prioritized ? drawable(priority) : 1);
    if (this.#opening !== undefined) memory.drop(memory.length - items.steps);
    (this.#streams as Streams).end(env);
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
    this.#made?.memory.close();
    this.#made = made && this.#store.beside(made.spec, this.#opening?.max, made);
  }

  /** Episodes that came in so far, and are there. */
  get size(): number {
    return this.#made?.items.size ?? 0;
  }

  /** Takes it over. @throws ReplayError CORRUPT where it is not whole */
  finish(): void {
    // Where there was nothing yet there is no spec.
    if ((this.#empty || this.#opening !== undefined) && this.#made === undefined) return;
    const made = this.#known();
    const state = this.#state;
    if (state !== undefined && state.count !== made.items.size) throw damaged("other episodes than it says");
    this.#streams?.endAll();
    if (state !== undefined && !this.#empty) made.items.randomState = state.random;
    // Single transitions leave with their episode here, so there are none without.
    if (this.#store.options.together) made.memory.drop(made.memory.length - made.items.steps);
    this.#store.adopt(made);
    if (state !== undefined) this.#priorities?.restore(made.items, state);
  }

  /** Gives it up. */
  cancel(): void {
    this.#streams?.endAll();
    this.#made?.items.close();
    this.#made?.memory.close();
  }

  #known(): MadeEpisodes {
    if (this.#made === undefined) throw damaged("steps before their spec");
    return this.#made;
  }
}

/** What `save` and `load` need of a buffer. */
export function contentOfEpisodes(store: EndedEpisodes, priorities: Priorities | undefined): Content {
  return {
    write: (write) => writeEpisodes(store, priorities, write),
    sink: () => new EpisodesSink(store, priorities),
    get changes() {
      return store.changes;
    },
  };
}
