/** Holds the data that an inspector shows: the newest survey, the samples of the last few surveys, and the episodes so far. */
import { setAll, totalLength } from "../base/bytes.ts";
import type { Episode, Sample, Survey } from "./protocol.ts";

/** The number of surveys whose samples are combined, because a single sample is coarse. */
const MAX_SAMPLES = 4;
/** The number of episodes to keep. If there are more, every second episode of the older half is dropped. */
const MAX_EPISODES = 1024;

/** The sampled properties of items, one value per item, as plots need them. */
export interface SamplePool {
  readonly isWhole: boolean;
  readonly n: number;
  readonly priorities: Float64Array;
  /** The weights. NaN if priorities are not weights. */
  readonly weights: Float64Array;
  readonly timesSampled: Float64Array;
  /** The ages, counted in newer items, or in newer episodes if the number of newer items is unknown. */
  readonly ages: Float64Array;
  readonly agesIn: "items" | "episodes";
}

export class Model {
  survey: Survey | undefined;
  /** The episodes by number, oldest first. */
  episodes: readonly Episode[] = [];
  #samples: { readonly sample: Sample; readonly total: number }[] = [];
  #table: string | undefined;

  /** Adds a survey; a survey of another table restarts the model. */
  take(survey: Survey): void {
    const { table } = survey;
    if (table?.name !== this.#table) this.clear();
    this.#table = table?.name;
    this.survey = survey;
    if (table === undefined) return;
    const { sample, total, episodes } = table;
    if (sample.isWhole || sample.keys.length === 0) this.#samples = [];
    this.#samples.push({ sample, total });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
    if (episodes.length > 0) this.episodes = mergeEpisodes(this.episodes, episodes);
  }

  clear(): void {
    this.survey = undefined;
    this.episodes = [];
    this.#samples = [];
    this.#table = undefined;
  }

  /** Returns the combined samples of the last surveys. */
  samplePool(): SamplePool {
    const samples = this.#samples.map(({ sample }) => sample);
    const priorities = chained(samples.map((sample) => sample.priorities));
    const isInItems = samples.some(({ ages }) => ages.some((age) => !Number.isNaN(age)));
    return {
      isWhole: samples.length > 0 && (samples.at(-1) as Sample).isWhole,
      n: priorities.length,
      priorities,
      weights: chained(this.#samples.map(({ sample, total }) => sample.probabilities.map((probability) => (total > 0 ? probability * total : Number.NaN)))),
      timesSampled: chained(samples.map((sample) => sample.timesSampled)),
      ages: chained(samples.map((sample) => (isInItems ? sample.ages : sample.episodeAges))),
      agesIn: isInItems ? "items" : "episodes",
    };
  }
}

/** Merges two lists of episodes by number, without duplicates. If there are more than `max` episodes, drops every second episode of the older half. */
export function mergeEpisodes(old: readonly Episode[], recent: readonly Episode[], max = MAX_EPISODES): Episode[] {
  const byNumber = new Map(old.map((episode) => [episode.number, episode]));
  for (const episode of recent) byNumber.set(episode.number, episode);
  let all = [...byNumber.values()].sort((a, b) => a.number - b.number);
  while (all.length > max) {
    const half = all.length >> 1;
    all = all.filter((_, i) => i >= half || i % 2 === 0);
  }
  return all;
}

function chained(parts: readonly ArrayLike<number>[]): Float64Array {
  return setAll(new Float64Array(totalLength(parts)), parts);
}
