/**
 * Buffers the frames of one episode until they are written. Numbers and texts are kept unchanged, and images are encoded as PNG. Frames of videos are not
 * buffered, but encoded immediately.
 */
import { isText } from "../../../schema/leaf.ts";
import { isLazy } from "../../model/lazy-column.ts";
import type { LeafEntry } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, slicedColumn } from "../../model/step-columns.ts";
import type { EncodePng } from "../images/png-encoder.ts";
import { lazyPieces } from "../parquet/joined-pieces.ts";
import { joined } from "../parquet/table.ts";
import { rowOf } from "../parquet/table-writer.ts";
import { columnLeaf } from "./feature-columns.ts";
import type { FrameSchema, OutputFeature } from "./features.ts";
import { type FeatureStatistics, ofNumbers, PixelCounts } from "./statistics.ts";
import type { VideoWriter } from "./video.ts";

/** The frames of an episode and their statistics. */
export interface EpisodeData {
  readonly length: number;
  /** Returns the rows `from` … `to - 1` of each feature that is stored as a column, which means all except videos. */
  rows(from: number, to: number): ReadonlyMap<string, readonly unknown[]>;
  readonly statistics: ReadonlyMap<string, FeatureStatistics>;
  /** The whole columns of the leaves with end flags, times, tasks and references to videos, by leaf index. May contain other columns. */
  readonly episodeColumns: ReadonlyMap<number, ColumnData>;
}

const I64_END = 2n ** 63n;

/** The buffered frames of the current episode. */
export class EpisodeFrames {
  readonly #schema: FrameSchema;
  readonly #leaves: readonly LeafEntry[];
  readonly #encodePng: EncodePng;
  readonly #videos: ReadonlyMap<string, VideoWriter>;
  readonly #pixels: ReadonlyMap<string, PixelCounts>;
  /** The buffered pieces of each leaf that is kept unchanged, by leaf index. */
  readonly #chunks: ReadonlyMap<number, ColumnData[]>;
  /** The indices of the leaves whose columns are needed as a whole. */
  readonly #episodeLeaves: ReadonlySet<number>;
  readonly #images = new Map<string, unknown[]>();
  #length = 0;

  /** @param leaves the leaves of a step, in order */
  constructor(schema: FrameSchema, leaves: readonly LeafEntry[], encodePng: EncodePng, videos: ReadonlyMap<string, VideoWriter>) {
    this.#schema = schema;
    this.#leaves = leaves;
    this.#encodePng = encodePng;
    this.#videos = videos;
    const pictures = schema.features.filter(isPicture);
    this.#pixels = new Map(pictures.map(({ name, leaf }) => [name, new PixelCounts(leaf.shape[2] as number)]));
    const featureColumns = schema.features.filter((feature) => !isPicture(feature)).map(({ column }) => column);
    const tasks = schema.tasks.filter(({ of }) => of === "step").map(({ column }) => column);
    const films = schema.films.flatMap(({ path, timestamp }) => [path, timestamp]);
    const episodeLeaves = [schema.isLast, schema.isTerminal, schema.timestamp, ...tasks, ...films].filter((column) => column !== undefined);
    this.#episodeLeaves = new Set(episodeLeaves);
    this.#chunks = new Map([...featureColumns, ...episodeLeaves].map((column) => [column, []]));
    for (const { name, kind } of pictures) if (kind === "image") this.#images.set(name, []);
  }

  /** Adds the first `length` steps of columns in the order of the spec's leaves. */
  async add(data: readonly ColumnData[], length: number): Promise<void> {
    for (const { name, kind, leaf, size, column } of this.#schema.features) {
      const values = data[column] as ColumnData;
      if (kind !== "image" && kind !== "video") continue;
      const [height, width, channels] = leaf.shape as [number, number, number];
      for (let i = 0; i < length; i++) {
        const pixels = (values as Uint8Array).subarray(i * size, (i + 1) * size);
        this.#pixels.get(name)?.add(pixels);
        if (kind === "image") this.#images.get(name)?.push({ bytes: this.#encodePng(pixels, width, height, channels), path: null });
        else await this.#videos.get(name)?.add(pixels);
      }
    }
    for (const [column, chunks] of this.#chunks) chunks.push(slicedColumn(data[column] as ColumnData, 0, this.#leafAt(column).size * length));
    this.#length += length;
  }

  /**
   * Returns the buffered frames and resets the buffer. @param isTerminal whether a terminal final observation was left out, so that the last frame becomes
   * terminal @throws RldsError INVALID_DATA if a u64 is 2^63 or more
   */
  take(episode: number, isTerminal: boolean): EpisodeData {
    const length = this.#length;
    const pieces = new Map<number, readonly ColumnData[]>();
    const episodeColumns = new Map<number, ColumnData>();
    for (const [column, chunks] of this.#chunks) {
      const all = chunks.splice(0);
      const { leaf } = this.#leafAt(column);
      // Leaves that are not needed as a whole remain in pieces, because joining the pieces copies them.
      const isWhole = all.length === 1 || isText(leaf) || this.#episodeLeaves.has(column);
      const whole = isWhole ? (all.length === 1 ? (all[0] as ColumnData) : joined(leaf, all)) : undefined;
      pieces.set(column, whole === undefined ? all : [whole]);
      if (whole !== undefined) episodeColumns.set(column, whole);
    }
    const { isTerminal: flags } = this.#schema;
    if (isTerminal && flags !== undefined && length > 0) {
      const terminals = (episodeColumns.get(flags) as Uint8Array).slice().fill(1, length - 1);
      episodeColumns.set(flags, terminals);
      pieces.set(flags, [terminals]);
    }
    const rows = new Map<string, (from: number, to: number) => readonly unknown[]>();
    const statistics = new Map<string, FeatureStatistics>();
    for (const { name, kind, leaf, size, column } of this.#schema.features) {
      const counts = this.#pixels.get(name);
      if (counts !== undefined) {
        statistics.set(name, counts.take());
        const images = this.#images.get(name)?.splice(0) ?? [];
        if (kind === "image") rows.set(name, (from, to) => images.slice(from, to));
        continue;
      }
      const columnPieces = pieces.get(column) as readonly ColumnData[];
      if (leaf.dtype === "u64") checkRange(columnPieces as readonly BigUint64Array[], size, this.#leafAt(column).path, episode);
      const outputLeaf = columnLeaf(leaf);
      const data = columnPieces.length === 1 ? (columnPieces[0] as ColumnData) : lazyPieces(leaf, size, columnPieces);
      rows.set(name, (from, to) => {
        const part = slicedColumn(data, from * size, to * size);
        const values = isLazy(part) ? part.read() : part;
        return Array.from({ length: to - from }, (_, i) => rowOf(outputLeaf, values, i * size));
      });
      if (kind === "numbers") statistics.set(name, ofNumbers(columnPieces, length, leaf.shape.at(-1) ?? 1));
    }
    this.#length = 0;
    return { length, rows: (from, to) => new Map([...rows].map(([name, of]) => [name, of(from, to)])), statistics, episodeColumns };
  }

  #leafAt(column: number): LeafEntry {
    return this.#leaves[column] as LeafEntry;
  }
}

function isPicture({ kind }: OutputFeature): boolean {
  return kind === "image" || kind === "video";
}

function checkRange(pieces: readonly BigUint64Array[], size: number, path: string, episode: number): void {
  let before = 0;
  for (const data of pieces) {
    const at = data.findIndex((value) => value >= I64_END);
    if (at >= 0)
      throw new RldsError("INVALID_DATA", `${path} must be below 2^63, the limit of PyTorch, got ${data[at]}`, {
        episode,
        step: Math.floor((before + at) / size),
      });
    before += data.length;
  }
}
