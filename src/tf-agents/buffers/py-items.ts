/** Implements the base of the two Python buffers of TF-Agents. They store the last items in one sequence, and return draws without an info. */
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
  /** The maximum number of items. If the buffer is full, the oldest items are evicted. */
  readonly capacity: number;
  /** The seed of all random draws: a whole number, or a bigint below 2^64. Default: 0, so two buffers without a seed draw the same items. */
  readonly seed?: number | bigint;
  /** The maximum memory in bytes. Default: 4 GiB. */
  readonly maxBytes?: number;
  /** Another build of the core, such as `reprise/core.wasm` for hosts that forbid compilation. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
}

/** One segment of frames. `decode` converts its items to the form that the buffer returns. */
export class PyItems<S extends Spec> {
  readonly capacity: number;
  readonly #segment: FrameSegments<S>;
  readonly #decode: (items: StepsOf<S>) => unknown;
  /** The number of items added since the buffer was last empty. The place of the i-th item is i modulo the capacity. */
  #added = 0;

  /** @throws TypeError, RangeError if an option is invalid */
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

  /** Adds a batch that fits the spec, either as a whole or not at all. @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY */
  add(values: unknown, rows: number): void {
    if (rows === 1) this.#segment.append(values);
    else this.#segment.appendRows(values, rows);
    this.#added += rows;
  }

  /** Draws an item or a window, without an info. @throws ReplayError EMPTY without items, TOO_FEW if there are fewer items than numSteps */
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

  /** Returns all items, [1, size, …], in the order of their places. In a full buffer, the newest items may come before the oldest. O(bytes) */
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

/** Rotates a column [1, T, …] so that it begins with its `from`-th step. */
function rotateColumn({ data, shape }: Column, from: number): Column {
  const at = (from * data.length) / (shape[1] as number);
  return new Column(concatArrays([data.slice(at), data.slice(0, at)]), [...shape]);
}

/** The base class of `PyUniformReplayBuffer` and `PyHashedReplayBuffer`, with the methods that read items. */
export class PyBuffer<S extends Spec> {
  readonly dataSpec: S;
  readonly #items: PyItems<Spec>;

  /** Creates a buffer that reads the given items. @param items the stored items, whose spec may differ from `dataSpec` */
  constructor(dataSpec: S, items: PyItems<Spec>) {
    this.dataSpec = dataSpec;
    this.#items = items;
  }

  /** The maximum number of items. */
  get capacity(): number {
    return this.#items.capacity;
  }

  /** The number of items. */
  get size(): number {
    return this.#items.size;
  }

  /**
   * Draws an item, or a window of `numSteps` consecutive items, uniformly and without an info. Costs O(sampleBatchSize × bytes of a window).
   * @returns [D], [B, D], [T, D] or [B, T, D], depending on sampleBatchSize and numSteps; with `timeStacked: false`, an array of T items
   * @throws ReplayError EMPTY if the buffer is empty
   * @throws ReplayError TOO_FEW if there are fewer items than numSteps
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): StepsOf<S>[];
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): StepsOf<S>;
  getNext(options: GetNextOptions = {}): StepsOf<S> | StepsOf<S>[] {
    return this.#items.next(options) as StepsOf<S>;
  }

  /**
   * Returns an endless series of draws like those of `getNext`. With `singleDeterministicPass`, returns one pass in chronological order. Elements are items
   * without an info.
   * @throws ReplayError EMPTY during iteration if the buffer is empty
   * @throws ReplayError TOO_FEW during iteration if there are fewer items than numSteps
   */
  asDataset(options: AsDatasetOptions<S> = {}): Dataset<StepsOf<S>> {
    return this.#items.dataset(options as never) as Dataset<StepsOf<S>>;
  }

  /** Returns all items, [1, size, …], in the order of their places. In a full buffer, the newest items may come first, because they replace the oldest. */
  gatherAll(): StepsOf<S> {
    return this.#items.all() as StepsOf<S>;
  }

  /** Returns the number of items. */
  numFrames(): number {
    return this.#items.size;
  }
}
