/** N-step transitions as a history: written from the oldest on, and read again. */

import { EPISODE_END, FORM, ITEM, STATE, STEP } from "../../base/kinds.ts";
import { drawable } from "../../memory/priorities.ts";
import { formBytes, itemBytes, NOTHING, stateBytes, type Write, writeNothing } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import type { Env } from "../store/steps.ts";
import type { Made } from "../store/stored.ts";
import type { Transitions } from "../store/transitions.ts";
import { type Content, StoredSink } from "./sink.ts";
import type { Progress } from "./work.ts";

/** Items between two reports. */
const CHUNK = 1024;

/** An episode that is written: its number in the file, and its step that came last. */
interface Written {
  readonly number: number;
  last: number;
}

/** All stored items, without the running episodes. */
function* writeTransitions(store: Transitions, write: Write): Generator<Progress, void> {
  const { made } = store;
  if (made === undefined) return writeNothing(write);
  write(FORM, 0, formBytes(store.form(made)));
  write(STATE, 0, stateBytes(store.state(made)));
  yield* writeItems(made, write);
}

/** All items: a row once, however many of them have it. Gives the episodes that did not end. */
export function* writeItems({ items, records, steps: { engine } }: Made, write: Write): Generator<Progress, Iterable<number>> {
  const slots = items.slots();
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
  return Array.from(episodes.values(), ({ number }) => number);
}

class TransitionsSink extends StoredSink {
  step(episode: number, payload: Uint8Array, alone: boolean): void {
    const env = this.steps.read(episode, payload);
    if (alone) this.#add(env, 1, 1);
  }

  item(episode: number, length: number, priority: number): void {
    const env = this.steps.known(episode);
    if (env === undefined || length < 1 || length > env.length || !(priority >= 0)) throw damaged("an item without its steps");
    this.#add(env, length, this.store.options.priorities === undefined ? 1 : drawable(priority));
  }

  end(episode: number, priority: number | undefined): void {
    if (priority !== undefined) throw damaged("a whole episode");
    this.steps.end(episode);
  }

  #add({ stream }: Env, length: number, priority: number): void {
    this.made.items.reserve(1);
    this.made.items.insert(stream, length, priority);
  }
}

export function contentOfTransitions(store: Transitions): Content {
  return { write: (write) => writeTransitions(store, write), sink: (opening) => new TransitionsSink(store, opening) };
}
