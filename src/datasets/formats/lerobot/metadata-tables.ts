/** Writes the metadata tables of version 3.0: a table of the episodes and their statistics, and a table of the tasks. */
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { columnSchema, EPISODE, type SchemaElement } from "../parquet/schema.ts";
import { encodingOf, type ParquetPackage, rowOf, TableWriter } from "../parquet/table-writer.ts";
import type { StagedFile } from "../sinks/staging.ts";
import { splitFileNumber } from "./file-paths.ts";
import { type FeatureStatistics, STATISTICS } from "./statistics.ts";
import type { VideoSpan } from "./video.ts";

/** The number of episodes per row group of meta/episodes. */
const GROUP = 256;
const I64 = { dtype: "i64", shape: [] } as const;
const F64 = { dtype: "f64", shape: [] } as const;

/** A feature with statistics. The statistics of images have one value per channel, in the shape [channels, 1, 1]. */
export interface FeatureWithStatistics {
  readonly name: string;
  readonly isPicture: boolean;
}

/** The row of an episode in meta/episodes. */
export interface EpisodeRow {
  readonly index: number;
  readonly length: number;
  /** The number of frames before the episode in the dataset. */
  readonly from: number;
  /** The number of the data file that contains the episode. */
  readonly file: number;
  readonly tasks: readonly string[];
  readonly videos: ReadonlyMap<string, VideoSpan>;
  readonly statistics: ReadonlyMap<string, FeatureStatistics>;
  /** The episode's metadata, as one column with a single row per leaf. */
  readonly metadata: readonly ColumnData[];
}

interface TableColumn {
  readonly name: string;
  readonly schema: readonly SchemaElement[];
  readonly encoding?: "PLAIN";
  readonly of: (row: EpisodeRow) => unknown;
}

/** Writes meta/episodes, with one row per episode. */
export class EpisodeTable {
  readonly #columns: readonly TableColumn[];
  readonly #table: TableWriter;
  #rows: EpisodeRow[] = [];

  constructor(
    file: StagedFile,
    features: readonly FeatureWithStatistics[],
    videos: readonly string[],
    metadataSpec: { readonly [name: string]: StepSpec },
    packages: ParquetPackage,
  ) {
    this.#columns = columnsOf(features, videos, metadataSpec);
    const schema = [{ name: "schema", num_children: this.#columns.length }, ...this.#columns.flatMap((column) => column.schema)];
    this.#table = new TableWriter(file, schema, "SNAPPY", packages);
  }

  async add(row: EpisodeRow): Promise<void> {
    this.#rows.push(row);
    if (this.#rows.length >= GROUP) await this.#group();
  }

  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#group();
    await this.#table.finish();
  }

  async #group(): Promise<void> {
    await this.#table.write(this.#columns.map(({ name, encoding, of }) => ({ name, data: this.#rows.map(of), ...(encoding && { encoding }) })));
    this.#rows = [];
  }
}

function columnsOf(features: readonly FeatureWithStatistics[], videos: readonly string[], metadataSpec: { readonly [name: string]: StepSpec }): TableColumn[] {
  const singleColumn = (name: string, leaf: StepLeaf, of: (row: EpisodeRow) => unknown): TableColumn => ({
    name,
    schema: columnSchema(name, leaf),
    ...encodingOf(leaf),
    of,
  });
  const number = (name: string, of: (row: EpisodeRow) => number | bigint) => singleColumn(name, I64, (row) => BigInt(of(row)));
  return [
    number("episode_index", ({ index }) => index),
    singleColumn("tasks", { dtype: "string", shape: [-1] }, ({ tasks }) => tasks),
    number("length", ({ length }) => length),
    number("data/chunk_index", ({ file }) => splitFileNumber(file)[0]),
    number("data/file_index", ({ file }) => splitFileNumber(file)[1]),
    number("dataset_from_index", ({ from }) => from),
    number("dataset_to_index", ({ from, length }) => from + length),
    ...videos.flatMap((video) => {
      const span = (row: EpisodeRow) => row.videos.get(video) as VideoSpan;
      return [
        number(`videos/${video}/chunk_index`, (row) => splitFileNumber(span(row).file)[0]),
        number(`videos/${video}/file_index`, (row) => splitFileNumber(span(row).file)[1]),
        singleColumn(`videos/${video}/from_timestamp`, F64, (row) => span(row).from),
        singleColumn(`videos/${video}/to_timestamp`, F64, (row) => span(row).to),
      ];
    }),
    ...features.flatMap(({ name, isPicture }) => [
      ...STATISTICS.map((statistic, s) =>
        singleColumn(`stats/${name}/${statistic}`, { dtype: "f64", shape: isPicture ? [-1, 1, 1] : [-1] }, ({ statistics }) =>
          shapeStatistic(statistics.get(name) as FeatureStatistics, s, isPicture),
        ),
      ),
      singleColumn(`stats/${name}/count`, { dtype: "i64", shape: [1] }, ({ statistics }) => [BigInt(statistics.get(name)?.count ?? 0)]),
    ]),
    number("meta/episodes/chunk_index", () => 0),
    number("meta/episodes/file_index", () => 0),
    ...leavesOf(metadataSpec as StepSpec).map(({ path, leaf }, k) =>
      singleColumn(EPISODE + path, leaf, ({ metadata }) => rowOf(leaf, metadata[k] as ColumnData, 0)),
    ),
  ];
}

/** Returns a statistic in the shape that LeRobot uses. */
function shapeStatistic({ values }: FeatureStatistics, s: number, isPicture: boolean): unknown[] {
  const channelValues = [...(values[s] as Float64Array)];
  return isPicture ? channelValues.map((value) => [[value]]) : channelValues;
}

/** Writes meta/tasks.parquet, a pandas table whose index is the task. */
export async function writeTasks(file: StagedFile, tasks: readonly string[], packages: ParquetPackage): Promise<void> {
  const INDEX = "__index_level_0__";
  const text = { dtype: "string", shape: [] } as const;
  const schema = [{ name: "schema", num_children: 2 }, ...columnSchema("task_index", I64), ...columnSchema(INDEX, text)];
  const table = new TableWriter(file, schema, "SNAPPY", packages);
  const indices = tasks.map((_, i) => BigInt(i));
  await table.write([
    { name: "task_index", data: indices },
    { name: INDEX, data: tasks },
  ]);
  const unicode = { pandas_type: "unicode", numpy_type: "object" };
  const about = {
    index_columns: [INDEX],
    column_indexes: [{ name: null, field_name: null, ...unicode, metadata: { encoding: "UTF-8" } }],
    columns: [
      { name: "task_index", field_name: "task_index", pandas_type: "int64", numpy_type: "int64", metadata: null },
      { name: null, field_name: INDEX, ...unicode, metadata: null },
    ],
    creator: { library: "reprise", version: "1" },
    pandas_version: "2.2.3",
  };
  await table.finish({ pandas: JSON.stringify(about) });
}
