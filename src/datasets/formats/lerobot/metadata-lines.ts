/** Writes the lists of version 2.1 as JSON lines, with one line per episode or task. */
import { pythonJson } from "../json.ts";
import type { StagedFile } from "../sinks/staging.ts";
import type { EpisodeRow, FeatureWithStatistics } from "./metadata-tables.ts";
import { type FeatureStatistics, STATISTICS } from "./statistics.ts";

/** The names of the statistics that version 2.1 stores. */
const KNOWN = ["min", "max", "mean", "std"];

const encoder = new TextEncoder();

async function writeLine(file: StagedFile, value: object): Promise<void> {
  await file.write(encoder.encode(`${pythonJson(value)}\n`));
}

/** Writes meta/episodes.jsonl and meta/episodes_stats.jsonl. */
export class EpisodeLines {
  readonly #episodes: StagedFile;
  readonly #statistics: StagedFile;
  readonly #features: readonly FeatureWithStatistics[];

  constructor(episodes: StagedFile, statistics: StagedFile, features: readonly FeatureWithStatistics[]) {
    this.#episodes = episodes;
    this.#statistics = statistics;
    this.#features = features;
  }

  async add({ index, length, tasks, statistics }: EpisodeRow): Promise<void> {
    await writeLine(this.#episodes, { episode_index: index, tasks, length });
    const stats = this.#features.map(({ name, isPicture }) => [name, statisticsJson(statistics.get(name) as FeatureStatistics, isPicture)]);
    await writeLine(this.#statistics, { episode_index: index, stats: Object.fromEntries(stats) });
  }

  async finish(): Promise<void> {
    await this.#episodes.close();
    await this.#statistics.close();
  }
}

/** Returns the statistics of a feature as JSON. Statistics of images have the shape [channels, 1, 1]. */
function statisticsJson({ count, values }: FeatureStatistics, isPicture: boolean): object {
  const shaped = (s: number) => (isPicture ? Array.from(values[s] as Float64Array, (value) => [Float64Array.of(value)]) : values[s]);
  return { ...Object.fromEntries(STATISTICS.flatMap((name, s) => (KNOWN.includes(name) ? [[name, shaped(s)]] : []))), count: [count] };
}

/** Writes meta/tasks.jsonl. */
export async function writeTaskLines(file: StagedFile, tasks: readonly string[]): Promise<void> {
  for (const [task_index, task] of tasks.entries()) await writeLine(file, { task_index, task });
  await file.close();
}
