/** What TF-Agents' Python buffers have in common: the last items in a row, drawn without an info beside them. */
import { concatArrays } from "../../base/bytes.ts";
import { integer, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { StepsOf } from "../../batch/batch.ts";
import type { Dataset } from "../../batch/iterate.ts";
import { Column } from "../../schema/column.ts";
import type { Spec } from "../../schema/spec.ts";
import { mapColumns } from "../nest.ts";
import { FrameSegments } from "./frame-segments.ts";
import type { AsDatasetOptions, GetNextOptions } from "./replay-buffer.ts";

export interface PyBufferOptions {
  /** Items at most; where there are more, the oldest go. */
  readonly capacity: number;
  /** Of every random draw: a whole number, or a bigint below 2^64. 0 where it is left out, so that two buffers without a seed draw alike. */
  readonly seed?: number | bigint;
  /** Memory at most. */
  readonly maxBytes?: number;
  /** Another build of the core, such as `reprise/core.wasm` where the host forbids compiling. */
  readonly module?: WebAssembly.Module;
}

/** One segment of frames. `decode` makes of its items what the buffer gives. */
export class PyItems<S extends Spec> {
  readonly capacity: number;
  readonly #segment: FrameSegments<S>;
  readonly #decode: (items: StepsOf<S>) => unknown;
  /** Items since it was empty: of the i-th, i modulo the capacity is its place. */
  #added = 0;

  /** @throws TypeError, RangeError */
  constructor(spec: S, options: PyBufferOptions, decode: (items: StepsOf<S>) => unknown = (items) => items) {
    const { capacity, ...rest } = onlyKeys("options", options, "capacity, seed, maxBytes, module");
    this.capacity = integer("capacity", capacity, 1, MAX_LENGTH);
    this.#segment = new FrameSegments<S>(spec, { batchSize: 1, maxLength: capacity, ...rest });
    this.#decode = decode;
  }

  get size(): number {
    return this.#segment.size;
  }

  get added(): number {
    return this.#added;
  }

  get bytes(): number {
    return this.#segment.bytes;
  }

  /** Adds a batch that fits the spec, all of it or nothing. @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY */
  add(values: unknown, rows: number): void {
    if (rows === 1) this.#segment.append(values);
    else this.#segment.appendRows(values, rows);
    this.#added += rows;
  }

  /** @throws ReplayError EMPTY, TOO_FEW */
  next(options: GetNextOptions): unknown {
    const [items] = this.#segment.getNext(options) as unknown as readonly [StepsOf<S>];
    return options.timeStacked === false && options.numSteps !== undefined ? (items as unknown as StepsOf<S>[]).map(this.#decode) : this.#decode(items);
  }

  dataset(options: AsDatasetOptions<never>): Dataset<unknown> {
    const { sequencePreprocessFn: fn } = options as AsDatasetOptions;
    if (typeof fn !== "function") return this.#segment.dataset(options as AsDatasetOptions<S>, ([items]) => this.#decode(items));
    const sequencePreprocessFn = (items: StepsOf<S>) => fn(this.#decode(items) as never);
    return this.#segment.dataset({ ...(options as AsDatasetOptions<S>), sequencePreprocessFn }, ([items]) => items as unknown);
  }

  /** All items, [1, size, …], in the order of their places: where the buffer is full, the newest come before the oldest. O(bytes) */
  all(): unknown {
    const items = this.#segment.gatherAll();
    const offset = this.#added > this.capacity ? this.#added % this.capacity : 0;
    const ordered = offset === 0 ? items : mapColumns(items, (column) => rotateColumn(column as Column, this.capacity - offset));
    return this.#decode(ordered as StepsOf<S>);
  }

  clear(): void {
    this.#segment.clear();
    this.#added = 0;
  }
}

/** A column [1, T, …] that begins with its `from`-th step. */
function rotateColumn({ data, shape }: Column, from: number): Column {
  const at = (from * data.length) / (shape[1] as number);
  return new Column(concatArrays([data.slice(at), data.slice(0, at)]), [...shape]);
}

/** The calls that read, which both buffers have. */
export class PyBuffer<S extends Spec> {
  readonly dataSpec: S;
  readonly #items: PyItems<Spec>;

  /** @param items whose spec may be another one than `dataSpec` */
  constructor(dataSpec: S, items: PyItems<Spec>) {
    this.dataSpec = dataSpec;
    this.#items = items;
  }

  /** Items at most. */
  get capacity(): number {
    return this.#items.capacity;
  }

  /** Items that there are. */
  get size(): number {
    return this.#items.size;
  }

  /**
   * Draws an item, or a window of `numSteps` neighbours in order of time; all are alike likely. No info comes with it. O(sampleBatchSize × bytes of a window)
   * @returns by (sampleBatchSize, numSteps): [D], [B, D], [T, D], [B, T, D]; without timeStacked an array of T
   * @throws ReplayError EMPTY, TOO_FEW (fewer items than numSteps)
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): StepsOf<S>[];
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): StepsOf<S>;
  getNext(options: GetNextOptions = {}): StepsOf<S> | StepsOf<S>[] {
    return this.#items.next(options) as StepsOf<S>;
  }

  /** Random draws like those of `getNext`, without end; or one pass in order of time. Elements are the items alone. @throws in the iteration EMPTY, TOO_FEW */
  asDataset(options: AsDatasetOptions<S> = {}): Dataset<StepsOf<S>> {
    return this.#items.dataset(options as never) as Dataset<StepsOf<S>>;
  }

  /** What is stored, [1, size, …], in the order of the places: in a full buffer the newest items, which took the oldest ones' places, come first. */
  gatherAll(): StepsOf<S> {
    return this.#items.all() as StepsOf<S>;
  }

  /** Items that there are. */
  numFrames(): number {
    return this.#items.size;
  }
}
