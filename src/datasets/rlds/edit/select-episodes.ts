/** Episodes by their numbers. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf } from "../../model/derive.ts";
import { numberEpisode } from "../../model/episode-number.ts";
import { type EpisodeNumbers, EpisodeSet } from "./episode-numbers.ts";

export interface EpisodeSelection {
  /** The episodes that are kept. Default: all */
  readonly episodes?: EpisodeNumbers;
  /** The episodes that are left out. Default: none */
  readonly dropEpisodes?: EpisodeNumbers;
}

/** What a reader has besides its episodes. */
type Seekable<S> = RldsDataset<S> & { startingAt?(episode: number): AsyncIterable<RldsEpisode<S>> };

/**
 * The episodes with these numbers, in their order: `selectEpisodes(data, { episodes: "0-9,12" })`. A reader that finds any episode does not read those before the first one, and nothing is
 * read after the last one. Errors of other functions name the numbers that episodes have here. Lazy; O(1) memory.
 * @throws TypeError, RangeError for an option; passes throw a RangeError for a number that no episode has
 */
export function selectEpisodes<S = RldsStep>(rlds: RldsDataset<S>, options: EpisodeSelection): RldsDataset<S> & AsyncIterable<RldsEpisode<S>> {
  const { episodes, dropEpisodes } = onlyKeys("options", options, "episodes, dropEpisodes");
  const kept = episodes === undefined ? undefined : new EpisodeSet("episodes", episodes);
  return selectSets(rlds, kept, dropEpisodes === undefined ? [] : [new EpisodeSet("dropEpisodes", dropEpisodes)]);
}

/** The same of sets, each of which errors call by its own name. @param kept undefined for all @param drops sets that are left out */
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
      // A number past the last episode is named with the count, which takes a pass from the beginning.
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
