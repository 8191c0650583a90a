/** Reads the episodes of a journal or a snapshot as RLDS episodes. */

import { integer } from "../../../base/error.ts";
import { type Piece, storedEpisodes } from "../../../batch/stored-episodes.ts";
import { engineOf, stateOf } from "../../../replay/replay.ts";
import { Roles } from "../../../schema/transition-roles.ts";
import { FINAL_STEP, FINAL_STEP_LEAF } from "../../model/final-step.ts";
import type { ReadEpisode, RldsReader } from "../reader.ts";
import { selectSpec } from "../selection/selected-spec.ts";
import type { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import { type StoredOptions, storedReplay } from "./stored-replay.ts";
import { createStoredSchema } from "./stored-schema.ts";
import { type EpisodeStart, StoredSteps } from "./stored-steps.ts";

const TEXT = { dtype: "string", shape: [] } as const;
const METADATA = { episode_id: { dtype: "u32", shape: [] }, beginning: TEXT, end: TEXT, [FINAL_STEP]: FINAL_STEP_LEAF } as const;

export async function replayReader<S>(from: Source, selection: Selection, options: StoredOptions): Promise<RldsReader<S>> {
  const { format, name, replay, history } = await storedReplay(from, options);
  try {
    const engine = engineOf(replay);
    const roles = options.transition === undefined ? engine.roles : new Roles(engine.layout.leaves, options.transition);
    const schema = createStoredSchema(engine.layout.leaves, roles);
    const pieces = history?.pieces ?? storedEpisodes(engine, stateOf(replay));
    const { tables, steps } = replay.stats();
    const hasEvicted = history === undefined && Object.values(tables).some(({ deletes }) => deletes > 0);
    const selected = selectSpec(schema.stepSpec, selection);
    selection.check();
    const reader = new StoredSteps(engine, schema, { maxBytes: options.maxBytes, selected, history });
    const startingAt = async function* (episode: number): AsyncGenerator<ReadEpisode<S>, void, undefined> {
      for (let i = episode; i < pieces.length; i++) {
        options.signal?.throwIfAborted();
        const piece = pieces[i] as Piece;
        const isOnlyPart = pieces[i - 1]?.episode !== piece.episode && pieces[i + 1]?.episode !== piece.episode;
        yield { episode_id: piece.episode, ...reader.read<S>(piece, detectStart(piece, isOnlyPart, hasEvicted)) };
      }
    };
    return {
      ...{ format, name, stepSpec: selected.spec, metadataSpec: METADATA, episodes: pieces.length, steps: history?.steps ?? steps },
      about: { tables: replay.options.tables, transition: replay.options.transition, openWriters: replay.writers.length },
      [Symbol.asyncIterator]: () => startingAt(0),
      startingAt: (episode) => startingAt(integer("episode", episode, 0)),
      lengths: async () => pieces.map(({ rows }) => rows.length),
      async close() {
        replay.dispose();
      },
    };
  } catch (error) {
    replay.dispose();
    throw error;
  }
}

/**
 * Returns the state of an episode's beginning, as far as it is known without reading steps. For an open episode, the count of its steps determines the state.
 */
function detectStart({ openSteps, end, rows }: Piece, isOnlyPart: boolean, hasEvicted: boolean): EpisodeStart {
  if (openSteps > 0) return openSteps === rows.length ? "there" : "evicted";
  // A last part with an end is preceded by the other parts of the episode.
  if (!isOnlyPart && end !== 0) return "evicted";
  return hasEvicted || !isOnlyPart ? "unknown" : "there";
}
