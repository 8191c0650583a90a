/** Writes episodes as a history, oldest first, and reads such histories. */

import { EPISODE, EPISODE_END, FORM, STATE, STEP } from "../../base/kinds.ts";
import { drawablePriority } from "../../memory/priorities.ts";
import type { EpisodeContents, EpisodeStore } from "../store/episodes.ts";
import { EMPTY, encodeSchema, priorityBytes, stateBytes, type Write, writeNothing } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import type { Progress } from "./incremental.ts";
import { type Content, StoreLoader } from "./loader.ts";

/** Writes all stored episodes, without open episodes, and the single transitions whose episode was evicted. */
function* writeEpisodes(store: EpisodeStore, write: Write): Generator<Progress, void> {
  const { contents } = store;
  if (contents === undefined) return writeNothing(write);
  const { items, memory, steps } = contents;
  write(FORM, 0, encodeSchema(store.schema(contents)));
  write(STATE, 0, stateBytes(store.state(contents)));
  const of = memory.length;
  const evictedRows = memory.rows(0, Math.max(0, of - items.steps));
  let number = 0;
  let done = 0;
  for (let from = 0; from < evictedRows.length; number++) {
    const episode = steps.engine.episodeOf(evictedRows[from] as number);
    let to = from + 1;
    while (to < evictedRows.length && steps.engine.episodeOf(evictedRows[to] as number) === episode) to++;
    writeEpisode(contents, number, evictedRows.subarray(from, to), undefined, write);
    done += to - from;
    from = to;
    yield { done, of };
  }
  for (const slot of items.slots()) {
    const rows = items.rowsOf(slot);
    writeEpisode(contents, number++, rows, items.priorityOf(slot), write);
    done += rows.length;
    yield { done, of };
  }
}

/** Writes the steps of an episode, and its end. @param priority undefined if the episode is not an item */
export function writeEpisode({ records }: EpisodeContents, number: number, rows: Uint32Array, priority: number | undefined, write: Write): void {
  let previousRow = 0;
  for (const row of rows) {
    write(STEP, number, records.write(row, previousRow));
    previousRow = row;
  }
  if (priority === undefined) write(EPISODE_END, number, EMPTY);
  else write(EPISODE, number, priorityBytes(priority));
}

class EpisodesSink extends StoreLoader<EpisodeContents> {
  step(episode: number, payload: Uint8Array, isItem: boolean): void {
    if (isItem) throw damaged("a step is marked as an item");
    this.steps.read(episode, payload);
  }

  item(): void {
    throw damaged("an item is stored in a file of episodes");
  }

  end(episode: number, priority: number | undefined): void {
    const { items, memory } = this.contents;
    const env = this.steps.find(episode);
    if (env === undefined || (priority !== undefined && !(priority >= 0))) throw damaged("an episode ends before its first step");
    memory.reserve(env.length);
    items.reserve(1);
    memory.hold(env.stream);
    if (priority !== undefined) items.insert(env.stream, env.length, this.store.options.priorities === undefined ? 1 : drawablePriority(priority));
    if (this.opening !== undefined) memory.drop(memory.length - items.steps);
    this.steps.end(episode);
  }
}

export function contentOfEpisodes(store: EpisodeStore): Content {
  return { write: (write) => writeEpisodes(store, write), loader: (opening) => new EpisodesSink(store, opening) };
}
