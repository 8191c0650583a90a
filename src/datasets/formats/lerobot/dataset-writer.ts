/** Writes a LeRobot dataset, episode by episode. */
import { mustBe } from "../../../base/error.ts";
import { type Chunk, readChunks } from "../../model/chunks.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsEpisode, StepSpec } from "../../model/dataset.ts";
import { type FinalStep, finalStepOf, withoutFinalStep } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { type About, nestedAbout } from "../about.ts";
import type { Films } from "../film-references.ts";
import type { EncodePng } from "../images/png-encoder.ts";
import { pythonJson } from "../json.ts";
import { hyparquetWriter } from "../parquet/packages.ts";
import { type ParquetPackage, TableWriter } from "../parquet/table-writer.ts";
import type { Losses } from "../sinks/losses.ts";
import type { StagedFile, Staging } from "../sinks/staging.ts";
import type { WriteOptions, WriteReport } from "../sinks/writer.ts";
import { EpisodeFrames } from "./episode-frames.ts";
import { COUNTED_FEATURES, DONE, featureJson, frameColumns } from "./feature-columns.ts";
import type { FilmFeature, FrameSchema } from "./features.ts";
import { fileName } from "./file-paths.ts";
import { FilmCopies } from "./film-copies.ts";
import type { CutFilm } from "./film-cut.ts";
import { INFO } from "./info.ts";
import type { FeatureNames } from "./joint-names.ts";
import { type Layout, type LeRobotVersion, layoutOf } from "./layout.ts";
import { EpisodeLines, writeTaskLines } from "./metadata-lines.ts";
import { EpisodeTable, type FeatureWithStatistics, writeTasks } from "./metadata-tables.ts";
import { type FeatureStatistics, ofValues, STATISTICS, TotalStatistics } from "./statistics.ts";
import { type MakeVideoEncoder, type VideoSpan, VideoWriter } from "./video.ts";

/** The checked options of `writeLeRobot`. */
export interface LeRobotSettings extends WriteOptions {
  readonly fps: number;
  readonly task: string | undefined;
  readonly taskLeaf: string | undefined;
  readonly robotType: string | undefined;
  readonly names: { readonly [path: string]: FeatureNames };
  readonly images: readonly string[] | undefined;
  readonly videos: readonly string[];
  readonly videoEncoder: MakeVideoEncoder | undefined;
  readonly films: Films | undefined;
  readonly cutFilm: CutFilm | undefined;
  readonly about: About | undefined;
  /** The kind of every episode's last step. Default: the kind that the episode states, otherwise the kind according to the RLDS rule. */
  readonly finalStep: FinalStep | undefined;
  readonly fileBytes: number | undefined;
  readonly version: LeRobotVersion;
}

/** The options with the schema of the data. */
export interface WriterSettings extends LeRobotSettings {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  /** The spec of an episode's metadata in the source. Unlike `metadataSpec`, it has `episode_index` if the source numbers its episodes. */
  readonly sourceMetadata: { readonly [name: string]: StepSpec };
  readonly schema: FrameSchema;
  readonly encodePng: EncodePng;
  readonly losses: Losses;
}

/** The data from which the additional columns of every frame are generated. */
interface GeneratedFrom {
  readonly tasks: readonly string[];
  readonly frameTimes: Float32Array;
  readonly isTruncated: boolean;
}

const CHUNK_STEPS = 256;
/** The maximum number of rows per row group. It limits memory, because each column of a group is an array in memory while the group is written. */
const GROUP_ROWS = 2 ** 13;
const DATA_BYTES = 100 * 2 ** 20;
/** The maximum rounding error of a time, in seconds. LeRobot tolerates an error of 1e-4 s in the interval between two frames, to which two times contribute. */
const MAX_ROUNDING = 5e-5;
const VIDEO_BYTES = 200 * 2 ** 20;

/** A writer of one LeRobot dataset. */
export class DatasetWriter {
  readonly #staging: Staging;
  readonly #settings: WriterSettings;
  readonly #packages: ParquetPackage;
  readonly #leaves: readonly LeafEntry[];
  readonly #frames: EpisodeFrames;
  readonly #videos: ReadonlyMap<string, VideoWriter>;
  readonly #films: readonly FilmCopies[];
  /** The videos for which the source has statistics. */
  readonly #countedFilms: readonly FilmCopies[];
  readonly #columns: ReturnType<typeof frameColumns>;
  readonly #totals: ReadonlyMap<FeatureWithStatistics, TotalStatistics>;
  /** The numbers of the tasks, by their texts. */
  readonly #tasks = new Map<string, number>();
  /** The names of the files, in the order of creation. */
  readonly #names: string[] = [];
  readonly #staged: StagedFile[] = [];
  readonly #layout: Layout;
  #table: EpisodeTable | EpisodeLines | undefined;
  #data: TableWriter | undefined;
  #dataFiles = 0;
  #episodes = 0;
  #steps = 0;

  /** Creates a writer. @throws RangeError if the option `names` has a path that is not the path of a vector, or the wrong number of names for a vector */
  static async of(staging: Staging, settings: WriterSettings): Promise<DatasetWriter> {
    const counted = new Set<string>();
    for (const { camera } of settings.schema.films) {
      const statistics = "episode_index" in settings.sourceMetadata ? await settings.films?.statistics(camera.name, 0) : undefined;
      if (statistics !== undefined && STATISTICS.every((name) => statistics.values[name] !== undefined)) counted.add(camera.name);
      else settings.losses.add(`statistics of ${camera.name}`, "the source does not have them for each episode");
    }
    return new DatasetWriter(staging, settings, await hyparquetWriter(), counted);
  }

  private constructor(staging: Staging, settings: WriterSettings, packages: ParquetPackage, counted: ReadonlySet<string>) {
    const { schema, stepSpec, encodePng, videoEncoder, cutFilm, fps, fileBytes = VIDEO_BYTES, version, metadataSpec, losses } = settings;
    const layout = layoutOf(version);
    this.#layout = layout;
    if (version === "2.1") for (const { path } of leavesOf(metadataSpec as StepSpec)) losses.add(path, "LeRobot 2.1 has no metadata of episodes");
    this.#staging = staging;
    this.#settings = settings;
    this.#packages = packages;
    this.#leaves = leavesOf(stepSpec);
    checkNames(settings, this.#leaves);
    const create = (path: string) => this.#create(path);
    this.#videos = new Map(
      schema.features
        .filter(({ kind }) => kind === "video")
        .map(({ name, leaf: { shape } }) => {
          const format = { height: shape[0] as number, width: shape[1] as number, fps };
          const plan = { make: videoEncoder as MakeVideoEncoder, format, create, maxBytes: layout.isPerEpisode ? 0 : fileBytes };
          return [name, new VideoWriter({ ...plan, pathOf: (file) => layout.filmPath(name, file) })];
        }),
    );
    this.#films = schema.films.map(({ camera }) => new FilmCopies(camera, { films: settings.films as Films, create, layout, fps, cutFilm }));
    this.#countedFilms = this.#films.filter(({ camera }) => counted.has(camera.name));
    this.#frames = new EpisodeFrames(schema, this.#leaves, encodePng, this.#videos);
    this.#columns = frameColumns(schema.features, this.#generatedFeatures);
    const featuresWithStatistics: FeatureWithStatistics[] = [
      ...schema.features.filter(({ kind }) => kind !== "text").map(({ name, kind }) => ({ name, isPicture: kind !== "numbers" })),
      ...this.#countedFilms.map(({ camera: { name } }) => ({ name, isPicture: true })),
      ...Object.keys(this.#generatedFeatures).map((name) => ({ name, isPicture: false })),
    ];
    this.#totals = new Map(featuresWithStatistics.map((feature) => [feature, new TotalStatistics()]));
  }

  /** The features that are generated, because the steps do not have them. */
  get #generatedFeatures() {
    return { ...(this.#settings.schema.hasDone ? {} : { "next.done": DONE }), ...COUNTED_FEATURES };
  }

  async add({ steps, episode_index: sourceIndex, ...metadata }: RldsEpisode<unknown>): Promise<void> {
    const { stepSpec, metadataSpec, schema, finalStep, signal, onProgress, fileBytes = DATA_BYTES } = this.#settings;
    const episode = this.#episodes;
    this.#settings.losses.addSplits(metadata);
    // A chunk is added only when the next chunk has arrived, because the last step of an episode may be left out.
    let previousChunk: Chunk | undefined;
    for await (const chunk of readChunks(steps, stepSpec, { episode, max: CHUNK_STEPS, signal })) {
      if (previousChunk !== undefined) await this.#frames.add(previousChunk.data, previousChunk.length);
      previousChunk = chunk;
    }
    const leavesOut = finalStepOf(metadata, true, finalStep) === "observation";
    const final = previousChunk === undefined || !leavesOut ? undefined : this.#finalOf(previousChunk);
    if (previousChunk !== undefined) await this.#frames.add(previousChunk.data, previousChunk.length - (final === undefined ? 0 : 1));
    if (final !== undefined) this.#settings.losses.addEpisode("final observations", "LeRobot has none");
    const data = this.#frames.take(episode, final?.isTerminal ?? false);
    const { length, episodeColumns } = data;
    const collector = new Collector(metadataSpec as StepSpec, 1);
    collector.add(withoutFinalStep(metadata), { episode }, "the episode's metadata");
    const metadataRow = collector.take().data;
    if (length === 0)
      throw new RldsError("INVALID_DATA", "an episode must have at least one frame, as LeRobot requires. Leave it out with filterEpisodes", { episode });
    const tasks = this.#tasksOf(episodeColumns, metadataRow, length);
    const frameTimes = this.#frameTimes(episodeColumns.get(schema.timestamp ?? -1), length);
    const generatedColumns = this.#generateColumns(episodeColumns.get(schema.isLast ?? -1), { tasks, frameTimes, isTruncated: final !== undefined });
    const filmStatistics = new Map<string, FeatureStatistics>();
    for (const film of this.#countedFilms) {
      const found = await film.statistics(Number(sourceIndex));
      if (found === undefined)
        throw new RldsError("CORRUPT", `the source has no statistics of ${film.camera.name} for its episode ${sourceIndex}`, { episode });
      filmStatistics.set(film.camera.name, found);
    }
    const statistics = new Map([
      ...data.statistics,
      ...filmStatistics,
      ...[...generatedColumns].map(([name, valueAt]) => [name, ofValues(valueAt, length)] as const),
    ]);
    for (const [{ name }, total] of this.#totals) total.add(statistics.get(name) as FeatureStatistics);
    if (this.#data === undefined) {
      this.#data = new TableWriter(await this.#create(this.#layout.dataPath(this.#dataFiles++)), this.#columns.schema, "SNAPPY", this.#packages);
    }
    for (let from = 0; from < length; from += GROUP_ROWS) {
      const to = Math.min(length, from + GROUP_ROWS);
      const generatedRows = [...generatedColumns].map(([name, valueAt]) => [name, Array.from({ length: to - from }, (_, i) => valueAt(from + i))] as const);
      await this.#data.write(this.#columns.columns(new Map([...data.rows(from, to), ...generatedRows])));
    }
    const videos = new Map<string, VideoSpan>();
    for (const [name, video] of this.#videos) videos.set(name, await video.endEpisode());
    for (const [k, film] of this.#films.entries()) {
      const { path, timestamp } = schema.films[k] as FilmFeature;
      const [paths, times] = [episodeColumns.get(path) as readonly string[], episodeColumns.get(timestamp) as Float64Array];
      videos.set(film.camera.name, await film.add({ episode, paths, times, frameTimes }));
    }
    this.#table ??= await this.#begunTable();
    const texts = [...new Set(tasks)];
    await this.#table.add({ index: episode, length, from: this.#steps, file: this.#dataFiles - 1, tasks: texts, videos, statistics, metadata: metadataRow });
    this.#episodes++;
    this.#steps += length;
    if (this.#layout.isPerEpisode || this.#data.file.bytes >= fileBytes) await this.#endData();
    onProgress?.({ episodes: this.#episodes, steps: this.#steps, bytes: this.#bytes });
  }

  /** Writes the metadata, and gives all files their final names. @param existing the files to replace @throws RldsError EMPTY if there are no episodes */
  async finish(existing: readonly string[]): Promise<WriteReport> {
    const { signal, strict, losses } = this.#settings;
    if (this.#table === undefined) throw new RldsError("EMPTY", "the dataset must have at least one episode, because LeRobot cannot open an empty dataset");
    await this.#endData();
    await this.#table.finish();
    for (const video of this.#videos.values()) await video.finish();
    for (const film of this.#films) await film.finish();
    const tasks = [...this.#tasks.keys()];
    if (this.#layout.version === "2.1") await writeTaskLines(await this.#create("meta/tasks.jsonl"), tasks);
    else {
      await writeTasks(await this.#create("meta/tasks.parquet"), tasks, this.#packages);
      await this.#writeJson("meta/stats.json", this.#stats());
    }
    await this.#writeJson(INFO, this.#info());
    losses.check(strict);
    signal?.throwIfAborted();
    const bytes = this.#bytes;
    return { episodes: this.#episodes, steps: this.#steps, bytes, files: await this.#staging.commit(this.#names, existing), repeated: 0, losses: losses.all };
  }

  /** Cancels the encoders of unfinished videos. */
  async cancel(): Promise<void> {
    for (const video of this.#videos.values()) await video.cancel();
  }

  get #bytes(): number {
    return this.#staged.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async #create(path: string): Promise<StagedFile> {
    const file = await this.#staging.create(path.slice(0, path.lastIndexOf("/")));
    this.#names.push(path);
    this.#staged.push(file);
    return file;
  }

  async #writeJson(path: string, value: object): Promise<void> {
    await (await this.#create(path)).write(new TextEncoder().encode(pythonJson(value)));
  }

  async #begunTable(): Promise<EpisodeTable | EpisodeLines> {
    const { metadataSpec } = this.#settings;
    if (this.#layout.version === "2.1")
      return new EpisodeLines(await this.#create("meta/episodes.jsonl"), await this.#create("meta/episodes_stats.jsonl"), [...this.#totals.keys()]);
    return new EpisodeTable(
      await this.#create(`meta/episodes/${fileName(0)}.parquet`),
      [...this.#totals.keys()],
      [...this.#videos.keys(), ...this.#films.map(({ camera }) => camera.name)],
      metadataSpec,
      this.#packages,
    );
  }

  async #endData(): Promise<void> {
    await this.#data?.finish();
    this.#data = undefined;
  }

  /** If `is_last` marks the last step as the final observation, returns whether that step is terminal. Otherwise, returns undefined. */
  #finalOf({ data, length }: Chunk): { readonly isTerminal: boolean } | undefined {
    const { schema } = this.#settings;
    const at = (column: number | undefined) => column !== undefined && data[column]?.[length - 1] === 1;
    return at(schema.isLast) ? { isTerminal: at(schema.isTerminal) } : undefined;
  }

  /** Returns the task of each frame. */
  #tasksOf(episodeColumns: ReadonlyMap<number, ColumnData>, metadata: readonly ColumnData[], length: number): readonly string[] {
    const { task, schema } = this.#settings;
    if (task !== undefined) return new Array<string>(length).fill(task);
    const taskReaders = schema.tasks.map(({ column, of }): ((i: number) => string) => {
      const texts = (of === "step" ? episodeColumns.get(column) : metadata[column]) as readonly string[];
      return (i) => texts[of === "step" ? i : 0] as string;
    });
    return Array.from({ length }, (_, i) => taskReaders.find((at) => at(i) !== "")?.(i) ?? "");
  }

  /** Returns the generated columns. Each column is a function from the index of a frame in the episode to the frame's value. */
  #generateColumns(done: ColumnData | undefined, { tasks, frameTimes, isTruncated }: GeneratedFrom): Map<string, (frame: number) => unknown> {
    const { schema } = this.#settings;
    const { length } = tasks;
    const [episode, from] = [BigInt(this.#episodes), this.#steps];
    for (const task of tasks) if (!this.#tasks.has(task)) this.#tasks.set(task, this.#tasks.size);
    return new Map<string, (frame: number) => unknown>([
      ...(schema.hasDone ? [] : [["next.done", (i: number) => done?.[i] === 1 || (isTruncated && i === length - 1)] as const]),
      ["timestamp", (i) => frameTimes[i]],
      ["frame_index", (i) => BigInt(i)],
      ["episode_index", () => episode],
      ["index", (i) => BigInt(from + i)],
      ["task_index", (i) => BigInt(this.#tasks.get(tasks[i] as string) as number)],
    ]);
  }

  /**
   * Returns the times of the frames in seconds, as f32. Without a column of times, they are computed from fps. If f32 cannot represent the times in the column,
   * such as seconds since 1970, they are counted from the first frame.
   */
  #frameTimes(column: ColumnData | undefined, length: number): Float32Array {
    if (column === undefined) return Float32Array.from({ length }, (_, i) => i / this.#settings.fps);
    const times = column as Float64Array;
    const seconds = Float32Array.from(times, Number);
    const [start = 0] = times;
    if (start === 0 || !times.some((time, i) => Math.abs(time - (seconds[i] as number)) > MAX_ROUNDING)) return seconds;
    this.#settings.losses.addEpisode("timestamp of the first step", "LeRobot counts seconds from the beginning of the episode, so this time was subtracted");
    return Float32Array.from(times, (time) => time - start);
  }

  #stats(): object {
    const statisticsJson = [...this.#totals].map(([{ name, isPicture }, { result }]) => {
      const statistics = result as FeatureStatistics;
      return [
        name,
        {
          ...Object.fromEntries(STATISTICS.map((statistic, s) => [statistic, floats(statistics.values[s] as Float64Array, isPicture)])),
          count: [statistics.count],
        },
      ];
    });
    return Object.fromEntries(statisticsJson);
  }

  #info(): object {
    const { schema, fps, robotType, names, about } = this.#settings;
    const features = schema.features.map((feature) => {
      const video = this.#videos.get(feature.name);
      const leafNames = names[this.#leaves[feature.column]?.path ?? ""] ?? null;
      return [feature.name, featureJson(feature, leafNames, video && { codec: video.codec, fps })];
    });
    const films = this.#films.map(({ camera: { name, feature } }) => [name, feature]);
    const generated = Object.entries(this.#generatedFeatures).map(([name, leaf]) => [name, featureJson({ leaf, kind: "numbers" }, null)]);
    const { counts, paths } = this.#layout.info({ episodes: this.#episodes, cameras: this.#videos.size + films.length });
    return {
      codebase_version: `v${this.#layout.version}`,
      robot_type: robotType ?? null,
      total_episodes: this.#episodes,
      total_frames: this.#steps,
      total_tasks: this.#tasks.size,
      ...counts,
      fps,
      splits: this.#splits(),
      ...paths,
      features: Object.fromEntries([...features, ...films, ...generated]),
      ...otherAbout(about),
    };
  }

  /** Returns the splits of a LeRobot source if there are several and they end at the last episode. Otherwise, returns a single split of all episodes. */
  #splits(): object {
    const { about, losses } = this.#settings;
    const all = { train: `0:${this.#episodes}` };
    const splits = Object.entries(nestedAbout(about?.splits));
    if (about?.codebase_version === undefined || splits.length < 2) return all;
    const ends = splits.map(([, range]) => (typeof range === "string" ? Number(/^\d+:(\d+)$/.exec(range)?.[1]) : Number.NaN));
    if (Math.max(...ends) === this.#episodes) return Object.fromEntries(splits);
    losses.add("splits", `the splits of the source do not end at episode ${this.#episodes}`);
    return all;
  }
}

/** The keys of info.json that are derived from the frames and the options. */
const OWN_KEYS = [
  ...["codebase_version", "robot_type", "total_episodes", "total_frames", "total_tasks", "total_videos", "total_chunks", "chunks_size"],
  ...["data_files_size_in_mb", "video_files_size_in_mb", "fps", "splits", "data_path", "video_path", "features"],
];

/** Returns the metadata of a dataset for which LeRobot has no key, under `about`. */
function otherAbout(about: About | undefined): object {
  const others = Object.entries(about ?? {}).filter(([name]) => !OWN_KEYS.includes(name));
  return others.length === 0 ? {} : { about: Object.fromEntries(others) };
}

/** Returns a statistic in the shape that LeRobot uses. */
function floats(values: Float64Array, isPicture: boolean): unknown {
  return isPicture ? Array.from(values, (value) => [Float64Array.of(value)]) : values;
}

function checkNames({ names }: WriterSettings, leaves: readonly LeafEntry[]): void {
  for (const [path, leafNames] of Object.entries(names)) {
    const length = leaves.find((entry) => entry.path === path && entry.leaf.shape.length === 1)?.leaf.shape[0];
    if (length === undefined) throw mustBe(RangeError, "the keys of names", "paths of vectors in a step", path);
    const count = Object.values(leafNames).flat().length;
    if (count !== length) throw mustBe(RangeError, `the number of names of ${path}`, String(length), count);
  }
}
