/** Writes n-step transitions as a history, oldest first, and reads such histories. */

import { EPISODE_END, FORM, ITEM, STATE, STEP } from "../../base/kinds.ts";
import { drawablePriority } from "../../memory/priorities.ts";
import { EMPTY, encodeSchema, itemBytes, stateBytes, type Write, writeNothing } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import type { Env } from "../store/steps.ts";
import type { BufferContents } from "../store/stored.ts";
import type { Transitions } from "../store/transitions.ts";
import type { Progress } from "./incremental.ts";
import { type Content, StoreLoader } from "./loader.ts";

/** The number of items between two progress reports. */
const CHUNK = 1024;

/** An episode that is being written: its number in the file, and the row of the last step that was written; 0 before the first step. */
interface OutputEpisode {
  readonly number: number;
  last: number;
}

/** Writes all stored items, without open episodes. */
function* writeTransitions(store: Transitions, write: Write): Generator<Progress, void> {
  const { contents } = store;
  if (contents === undefined) return writeNothing(write);
  write(FORM, 0, encodeSchema(store.schema(contents)));
  write(STATE, 0, stateBytes(store.state(contents)));
  yield* writeItems(contents, write);
}

/** Writes all items. Writes each row once, even if several items contain it. Returns the numbers of the episodes that did not end. */
export function* writeItems({ items, records, steps: { engine } }: BufferContents, write: Write): Generator<Progress, Iterable<number>> {
  const slots = items.slots();
  const episodes = new Map<number, OutputEpisode>();
  let numbers = 0;
  for (const [done, slot] of slots.entries()) {
    const rows = items.rowsOf(slot);
    const episode = engine.episodeOf(rows[0] as number);
    const outputEpisode = episodes.get(episode) ?? { number: numbers++, last: 0 };
    episodes.set(episode, outputEpisode);
    for (let i = rows.lastIndexOf(outputEpisode.last) + 1; i < rows.length; i++) {
      const row = rows[i] as number;
      write(STEP, outputEpisode.number, records.write(row, outputEpisode.last));
      outputEpisode.last = row;
    }
    write(ITEM, outputEpisode.number, itemBytes(rows.length, items.priorityOf(slot)));
    // The last item of an episode consists only of its last step.
    if (rows.length === 1 && engine.isLast(outputEpisode.last)) {
      write(EPISODE_END, outputEpisode.number, EMPTY);
      episodes.delete(episode);
    }
    if (done % CHUNK === CHUNK - 1) yield { done, of: slots.length };
  }
  return Array.from(episodes.values(), ({ number }) => number);
}

class TransitionsSink extends StoreLoader {
  step(episode: number, payload: Uint8Array, isItem: boolean): void {
    const env = this.steps.read(episode, payload);
    if (isItem) this.#add(env, 1, 1);
  }

  item(episode: number, length: number, priority: number): void {
    const env = this.steps.find(episode);
    if (env === undefined || length < 1 || length > env.length || !(priority >= 0)) throw damaged("the steps of an item are missing");
    this.#add(env, length, this.store.options.priorities === undefined ? 1 : drawablePriority(priority));
  }

  end(episode: number, priority: number | undefined): void {
    if (priority !== undefined) throw damaged("a whole episode is stored in a file of transitions");
    this.steps.end(episode);
  }

  #add({ stream }: Env, length: number, priority: number): void {
    this.contents.items.reserve(1);
    this.contents.items.insert(stream, length, priority);
  }
}

export function contentOfTransitions(store: Transitions): Content {
  return { write: (write) => writeTransitions(store, write), loader: (opening) => new TransitionsSink(store, opening) };
}
