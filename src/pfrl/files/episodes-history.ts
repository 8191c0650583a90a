/** Episodes as a history: written from the oldest on, and read again. */

import { EPISODE, EPISODE_END, FORM, STATE, STEP } from "../../base/kinds.ts";
import { drawable } from "../../memory/priorities.ts";
import type { EndedEpisodes, MadeEpisodes } from "../store/episodes.ts";
import { formBytes, NOTHING, priorityBytes, stateBytes, type Write, writeNothing } from "../store/history.ts";
import { damaged } from "../store/step-bytes.ts";
import { type Content, StoredSink } from "./sink.ts";
import type { Progress } from "./work.ts";

/** All stored episodes, without the running ones; and the single transitions whose episode has left. */
function* writeEpisodes(store: EndedEpisodes, write: Write): Generator<Progress, void> {
  const { made } = store;
  if (made === undefined) return writeNothing(write);
  const { items, memory, steps } = made;
  write(FORM, 0, formBytes(store.form(made)));
  write(STATE, 0, stateBytes(store.state(made)));
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
  for (const slot of items.slots()) {
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

class EpisodesSink extends StoredSink<MadeEpisodes> {
  step(episode: number, payload: Uint8Array, alone: boolean): void {
    if (alone) throw damaged("a step that is an item");
    this.steps.read(episode, payload);
  }

  item(): void {
    throw damaged("an item among episodes");
  }

  end(episode: number, priority: number | undefined): void {
    const { items, memory } = this.made;
    const env = this.steps.known(episode);
    if (env === undefined || (priority !== undefined && !(priority >= 0))) throw damaged("the end of no episode");
    memory.reserve(env.length);
    items.reserve(1);
    memory.hold(env.stream);
    if (priority !== undefined) items.insert(env.stream, env.length, this.store.options.priorities === undefined ? 1 : drawable(priority));
    if (this.opening !== undefined) memory.drop(memory.length - items.steps);
    this.steps.end(episode);
  }
}

export function contentOfEpisodes(store: EndedEpisodes): Content {
  return { write: (write) => writeEpisodes(store, write), sink: (opening) => new EpisodesSink(store, opening) };
}
