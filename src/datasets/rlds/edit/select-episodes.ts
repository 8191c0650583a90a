/** Selects episodes by number. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf } from "../../model/derive.ts";
import { numberEpisode } from "../../model/episode-number.ts";
import { type EpisodeNumbers, EpisodeSet } from "./episode-numbers.ts";

export interface EpisodeSelection {
  /** The episodes to keep. Default: all. */
  readonly episodes?: EpisodeNumbers;
  /** The episodes to leave out. Default: none. */
  readonly dropEpisodes?: EpisodeNumbers;
}

/** A dataset whose iteration can start at any episode, as some readers allow. */
type Seekable<S> = RldsDataset<S> & { startingAt?(episode: number): AsyncIterable<RldsEpisode<S>> };

/**
 * Returns the episodes with these numbers, in the order of the data, for example `selectEpisodes(data, { episodes: "0-9,12" })`. If the reader can seek,
 * earlier episodes are skipped without being read. Nothing is read after the last selected episode. Errors in later stages refer to the original episode
 * numbers. Works lazily, with O(1) memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RangeError during iteration if an episode does not exist
 */
export function selectEpisodes<S = RldsStep>(rlds: RldsDataset<S>, options: EpisodeSelection): RldsDataset<S> & AsyncIterable<RldsEpisode<S>> {
  const { episodes, dropEpisodes } = onlyKeys("options", options, "episodes, dropEpisodes");
  const kept = episodes === undefined ? undefined : new EpisodeSet("episodes", episodes);
  return selectSets(rlds, kept, dropEpisodes === undefined ? [] : [new EpisodeSet("dropEpisodes", dropEpisodes)]);
}

/**
 * Does the same as `selectEpisodes` for sets of episodes. Each set has its own name for messages. @param kept the episodes to keep; undefined for all episodes
 * @param drops the episodes to leave out
 */
export function selectSets<S>(
  rlds: RldsDataset<S>,
  kept: EpisodeSet | undefined,
  drops: readonly EpisodeSet[],
): RldsDataset<S> & AsyncIterable<RldsEpisode<S>> {
  const lastDropped = Math.max(-1, ...drops.map(({ last }) => last));
  const all = episodesOf(rlds) as AsyncIterable<RldsEpisode<S>>;
  const { startingAt } = rlds as Seekable<S>;
  if (startingAt !== undefined && typeof startingAt !== "function") throw mustBe(TypeError, "rlds.startingAt", "a method", startingAt);
  const selected = {
    async *[Symbol.asyncIterator]() {
      const first = kept === undefined || startingAt === undefined || kept.first === Number.POSITIVE_INFINITY ? 0 : kept.first;
      // `first` may lie after the last episode. The error then includes the number of episodes, which requires a pass from the beginning.
      let index = first;
      for await (const episode of first === 0 ? all : (startingAt as NonNullable<typeof startingAt>).call(rlds, first)) {
        if (kept?.has(index) !== false && !drops.some((dropped) => dropped.has(index))) yield numberEpisode({ ...episode }, index);
        index++;
        if (kept !== undefined && index > kept.last && index > lastDropped) return;
      }
      const count = index === first && first > 0 ? await countOf(all) : index;
      kept?.check(count);
      for (const dropped of drops) dropped.check(count);
    },
  };
  return attachSchema<S>(selected, deriveSchema(rlds)) as typeof selected & RldsDataset<S>;
}

async function countOf(episodes: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of episodes) count++;
  return count;
}
