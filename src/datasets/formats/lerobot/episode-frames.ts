/** The frames of one episode until they are a row group: numbers as they came, images as PNG. */
import type { FoundLeaf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, slicedColumn } from "../../model/step-columns.ts";
import { joined } from "../parquet/table.ts";
import { rowOf } from "../parquet/table-writer.ts";
import { columnLeaf } from "./feature-columns.ts";
import type { FrameForm, WrittenFeature } from "./features.ts";
import { type FeatureStatistics, ofNumbers, PixelCounts } from "./statistics.ts";
import type { VideoWriter } from "./video.ts";

export type EncodePng = (data: Uint8Array, width: number, height: number, channels: number) => Uint8Array;

export interface TakenFrames {
  readonly length: number;
  /** Of each feature that is a column, its rows. */
  readonly rows: ReadonlyMap<string, readonly unknown[]>;
  readonly statistics: ReadonlyMap<string, FeatureStatistics>;
  /** Of leaves that say something of the episode, by their places among the leaves. */
  readonly kept: ReadonlyMap<number, ColumnData>;
}

const I64_END = 2n ** 63n;

export class EpisodeFrames {
  readonly #form: FrameForm;
  readonly #leaves: readonly FoundLeaf[];
  readonly #encodePng: EncodePng;
  readonly #videos: ReadonlyMap<string, VideoWriter>;
  readonly #pixels: ReadonlyMap<string, PixelCounts>;
  /** Leaves that are gathered as they are. */
  readonly #gathered: ReadonlyMap<number, ColumnData[]>;
  readonly #images = new Map<string, unknown[]>();
  #length = 0;

  /** @param leaves of a step, in order */
  constructor(form: FrameForm, leaves: readonly FoundLeaf[], encodePng: EncodePng, videos: ReadonlyMap<string, VideoWriter>) {
    this.#form = form;
    this.#leaves = leaves;
    this.#encodePng = encodePng;
    this.#videos = videos;
    const pictures = form.features.filter(isPicture);
    this.#pixels = new Map(pictures.map(({ name, leaf }) => [name, new PixelCounts(leaf.shape[2] as number)]));
    const own = form.features.filter((feature) => !isPicture(feature)).map(({ column }) => column);
    const tasks = form.tasks.filter(({ of }) => of === "step").map(({ column }) => column);
    const beside = [form.isLast, form.isTerminal, form.timestamp, ...tasks];
    this.#gathered = new Map([...own, ...beside].filter((column) => column !== undefined).map((column) => [column, []]));
    for (const { name, kind } of pictures) if (kind === "image") this.#images.set(name, []);
  }

  /** The first `length` steps of columns in the order of the spec's leaves. */
  async add(data: readonly ColumnData[], length: number): Promise<void> {
    for (const { name, kind, leaf, size, column } of this.#form.features) {
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
    for (const [column, pieces] of this.#gathered) pieces.push(slicedColumn(data[column] as ColumnData, 0, this.#leafAt(column).size * length));
    this.#length += length;
  }

  /** What was gathered; it begins anew. @param isTerminal whether the step behind the last frame says so @throws RldsError INVALID_DATA for a number that LeRobot cannot have */
  take(episode: number, isTerminal: boolean): TakenFrames {
    const length = this.#length;
    const kept = new Map<number, ColumnData>();
    for (const [column, pieces] of this.#gathered) {
      kept.set(column, pieces.length === 1 ? (pieces[0] as ColumnData) : joined(this.#leafAt(column).leaf, pieces));
      pieces.length = 0;
    }
    const { isTerminal: flags } = this.#form;
    if (isTerminal && flags !== undefined && length > 0) kept.set(flags, (kept.get(flags) as Uint8Array).slice().fill(1, length - 1));
    const rows = new Map<string, readonly unknown[]>();
    const statistics = new Map<string, FeatureStatistics>();
    for (const { name, kind, leaf, size, column } of this.#form.features) {
      const counts = this.#pixels.get(name);
      if (counts !== undefined) {
        statistics.set(name, counts.take());
        if (kind === "image") rows.set(name, this.#images.get(name)?.splice(0) ?? []);
        continue;
      }
      const data = kept.get(column) as ColumnData;
      if (leaf.dtype === "u64") checkRange(data as BigUint64Array, size, this.#leafAt(column).path, episode);
      const written = columnLeaf(leaf);
      rows.set(
        name,
        Array.from({ length }, (_, i) => rowOf(written, data, i * size)),
      );
      if (kind === "numbers") statistics.set(name, ofNumbers(data, length, leaf.shape.at(-1) ?? 1));
    }
    this.#length = 0;
    return { length, rows, statistics, kept };
  }

  #leafAt(column: number): FoundLeaf {
    return this.#leaves[column] as FoundLeaf;
  }
}

function isPicture({ kind }: WrittenFeature): boolean {
  return kind === "image" || kind === "video";
}

function checkRange(data: BigUint64Array, size: number, path: string, episode: number): void {
  const at = data.findIndex((value) => value >= I64_END);
  if (at >= 0)
    throw new RldsError("INVALID_DATA", `${path} must be below 2^63, which is what Torch has, got ${data[at]}`, { episode, step: Math.floor(at / size) });
}
