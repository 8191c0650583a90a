/** Defines the interface of all replay buffers. Modelled on `replay_buffer.ReplayBuffer` of TF-Agents. */

import { described, finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH, MAX_TIMEOUT_MS } from "../../base/limits.ts";
import type { StepsOf } from "../../batch/batch.ts";
import type { Dataset } from "../../batch/iterate.ts";
import type { Column } from "../../schema/column.ts";
import type { Spec } from "../../schema/spec.ts";

/** The info that is returned with the items of an element, as columns. */
export interface BufferInfo {
  /** The ids of the frames or episodes. */
  readonly ids: Column<"f64">;
  /** The probability of drawing each window or episode. */
  readonly probabilities: Column<"f64">;
}

/** The info that is returned with an element whose steps are separate. */
export interface SeparateInfo {
  /** The ids of the frames, as one column per step, or the ids of the episodes. */
  readonly ids: Column<"f64"> | readonly Column<"f64">[];
  readonly probabilities: Column<"f64">;
}

/**
 * An element of a dataset, or the result of `getNext`: items nested like the data spec, and their info. If the steps are separate, the items are a tuple with
 * one nest per step.
 */
export type Element<S> = readonly [items: StepsOf<S>, info: BufferInfo];
/** An element of any buffer. The ids of a server's items are bigints. */
export type DatasetElement<S> = readonly [items: StepsOf<S>, info: Omit<BufferInfo, "ids"> & { readonly ids: Column<"f64"> | Column<"u64"> }];
export type SeparateElement<S> = readonly [items: readonly StepsOf<S>[], info: SeparateInfo];

export interface AsDatasetOptions<S = Spec> {
  /** The number of items per element. Default: single items, without a batch dimension. */
  readonly sampleBatchSize?: number;
  /** The number of steps per window. Default: single items, without a time dimension. */
  readonly numSteps?: number;
  /** The `num_parallel_calls` of TF-Agents, an integer >= 1. The value is checked but has no effect. */
  readonly numParallelCalls?: number;
  /**
   * A function that transforms the collected data before the data are cut into windows and batched. It receives and returns columns, with steps along the first
   * dimension if there are several.
   */
  sequencePreprocessFn?(items: StepsOf<S>): unknown;
  /** Whether to read each step once, in order, and then end. Default: false, for endless random draws. */
  readonly singleDeterministicPass?: boolean;
  /**
   * The number of elements that an async iteration draws ahead. Prefetched elements show the state at the time of their draw. They count when the loop receives
   * them, unless they come from a server. Nothing is prefetched from a table whose draws remove items (`maxTimesSampled`) or whose rate limiter counts draws.
   * At most 1024. Default: 0.
   */
  readonly prefetch?: number;
  /** A signal that aborts the iteration. The iteration throws the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * The maximum time in milliseconds that an async iteration of random draws waits for the next element. After this time, the iteration ends without an error.
   * Default: no wait, so the iteration throws EMPTY or TOO_FEW.
   */
  readonly timeoutMs?: number;
}

/** The options of a dataset whose windows may cross the end of an episode. */
export interface UniformDatasetOptions<S = Spec> extends AsDatasetOptions<S> {
  /**
   * Whether to leave out windows that have a boundary step (`stepType` LAST) before their last step, so that no window spans two episodes. The SAC example of
   * TF-Agents does the same with `unbatch`, `filter` and `batch`. Elements remain full, and probabilities remain those of draws from all windows. If few
   * windows are usable, draws use only those windows, so an element takes a bounded number of draws. Requires a `stepType` in the data spec and `numSteps` of 2
   * or more. Cannot be combined with `sequencePreprocessFn`. Default: false, as in TF-Agents.
   */
  readonly dropBoundaries?: boolean;
}

export interface GetNextOptions {
  readonly sampleBatchSize?: number;
  readonly numSteps?: number;
  /** Whether steps are stacked along a time dimension. If false, the steps are a tuple. Default: true. */
  readonly timeStacked?: boolean;
}

export interface ClearOptions {
  /** Whether the numbering of episodes and frames also restarts. Default: false. */
  readonly clearAllVariables?: boolean;
}

/**
 * The interface of replay buffers. For a spec `[D]`, B items and T steps, `getNext` returns [D], [B, D], [T, D] or [B, T, D]. Without a stacked time dimension,
 * it returns tuples of T × [D] or T × [B, D].
 */
// biome-ignore lint/suspicious/noExplicitAny: without a spec it is the buffer of any, and takes functions of its items
export interface ReplayBuffer<S = any> {
  /** The spec of one item, without batch or time dimensions. */
  readonly dataSpec: S;
  readonly capacity: number | Promise<number>;
  /** Whether a dataset reads state that changes outside the dataset. */
  readonly statefulDataset: boolean;
  asDataset(options?: AsDatasetOptions<S>): Dataset<DatasetElement<S>>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  /** Returns all items, oldest first: [B, T, D]. */
  gatherAll(): StepsOf<S>;
  clear(options?: ClearOptions): void | Promise<void>;
  numFrames(): number | Promise<number>;
}

const LISTS = new WeakSet<object>();

/** Marks a list of specs. Plain arrays are tuples. As in TF-Agents, datasets accept only tuples and throw for lists. */
export function list<const T extends readonly Spec[]>(...specs: T): T {
  LISTS.add(specs);
  return specs;
}

/** Checks that a spec has no lists. @throws RangeError if the spec has a list */
export function refuseLists(spec: Spec): void {
  if (typeof spec !== "object" || spec === null) return;
  if (LISTS.has(spec)) throw mustBe(RangeError, "dataSpec", ["a spec without list(…) for a dataset", "Use plain arrays"], described("a list of specs"));
  if (typeof (spec as { dtype?: unknown }).dtype !== "string") for (const part of Object.values(spec)) refuseLists(part);
}

const DATASET = "sampleBatchSize, numSteps, numParallelCalls, sequencePreprocessFn, singleDeterministicPass, prefetch, signal, timeoutMs";

/** Checks that a value is undefined or an integer from 1 to MAX_LENGTH. @throws TypeError, RangeError if it is not */
export function optionalCount(subject: string, value: unknown): void {
  if (value !== undefined) integer(subject, value, 1, MAX_LENGTH);
}

/**
 * Checks the options of a dataset, and its spec. @param own the names of additional options that only this buffer has @throws TypeError, RangeError if an
 * option is invalid, or if the spec has lists
 */
export function checkDataset<S>(spec: Spec, options: AsDatasetOptions<S>, own = ""): AsDatasetOptions<S> {
  refuseLists(spec);
  onlyKeys("options", options, own === "" ? DATASET : `${DATASET}, ${own}`);
  const { sampleBatchSize, numSteps, numParallelCalls, sequencePreprocessFn, singleDeterministicPass, prefetch, timeoutMs } = options;
  optionalCount("sampleBatchSize", sampleBatchSize);
  optionalCount("numSteps", numSteps);
  optionalCount("numParallelCalls", numParallelCalls);
  optionalFunction("sequencePreprocessFn", sequencePreprocessFn);
  flag("singleDeterministicPass", singleDeterministicPass ?? false);
  integer("prefetch", prefetch ?? 0, 0, 1024);
  finite("timeoutMs", timeoutMs ?? 0, 0, MAX_TIMEOUT_MS);
  return options;
}

export function checkGetNext(options: GetNextOptions): GetNextOptions {
  const { sampleBatchSize, numSteps, timeStacked } = onlyKeys("options", options, "sampleBatchSize, numSteps, timeStacked");
  optionalCount("sampleBatchSize", sampleBatchSize);
  optionalCount("numSteps", numSteps);
  flag("timeStacked", timeStacked ?? true);
  return options;
}

export function optionalFunction(subject: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") throw mustBe(TypeError, subject, "a function", value);
}

/** The options of buffers that store steps themselves. */
export interface StoreOptions {
  /** Whether a pass in order leaves out short windows at the end of an episode or segment, and a short last batch. Default: false. */
  readonly datasetDropRemainder?: boolean;
  /** The number of steps between the starts of two windows in a pass in order. Default: the length of a window. */
  readonly datasetWindowShift?: number;
  /** The seed of all random draws: a whole number, or a bigint below 2^64. Default: 0, so two buffers without a seed draw the same items. */
  readonly seed?: number | bigint;
  /** The maximum memory in bytes. Default: 4 GiB. */
  readonly maxBytes?: number;
  /** Another build of the core, such as `reprise/core.wasm` for hosts that forbid compilation. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
}

export const STORE = "datasetDropRemainder, datasetWindowShift, seed, maxBytes, module";

export function checkStore({ datasetDropRemainder, datasetWindowShift }: StoreOptions): void {
  flag("datasetDropRemainder", datasetDropRemainder ?? false);
  optionalCount("datasetWindowShift", datasetWindowShift);
}
