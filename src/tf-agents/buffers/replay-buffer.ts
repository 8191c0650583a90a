/** What every replay buffer is. After TF-Agents' `replay_buffer.ReplayBuffer`. */

import { finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH, MAX_TIMEOUT_MS } from "../../base/limits.ts";
import type { StepsOf } from "../../batch/batch.ts";
import type { Dataset } from "../../batch/iterate.ts";
import type { Column } from "../../schema/column.ts";
import type { Spec } from "../../schema/spec.ts";

/** What is known of an element beside its items, each as an array that carries its shape. */
export interface BufferInfo {
  /** Which frames these are, or which episodes. */
  readonly ids: Column<"f64">;
  /** With which a draw gives this window or episode. */
  readonly probabilities: Column<"f64">;
}

/** The same where steps are apart. */
export interface SeparateInfo {
  /** Which frames these are, a column a step; or which episodes. */
  readonly ids: Column<"f64"> | readonly Column<"f64">[];
  readonly probabilities: Column<"f64">;
}

/** What a dataset and `getNext` give: items nested as the data spec, and what is known of them. Of a tuple of steps, one nest a step. */
export type Element<S> = readonly [items: StepsOf<S>, info: BufferInfo];
/** The same of any buffer: the keys of a server's items are bigints. */
export type DatasetElement<S> = readonly [items: StepsOf<S>, info: Omit<BufferInfo, "ids"> & { readonly ids: Column<"f64"> | Column<"u64"> }];
export type SeparateElement<S> = readonly [items: readonly StepsOf<S>[], info: SeparateInfo];

export interface AsDatasetOptions<S = Spec> {
  /** Items an element; one, without a dimension for it, where it is left out. */
  readonly sampleBatchSize?: number;
  /** Steps of a window. */
  readonly numSteps?: number;
  /** An integer >= 1, checked; it changes no result. */
  readonly numParallelCalls?: number;
  /** What is made of the collected data before it is cut into windows and batched: columns to columns, by steps along the first dimension where there are several. */
  sequencePreprocessFn?(items: StepsOf<S>): unknown;
  /** Each step once, in order, and then the end; else random draws without end. */
  readonly singleDeterministicPass?: boolean;
  /**
   * Elements that an async iteration draws ahead; 0 where it is left out. They are as old as they were drawn, and count when the loop gets them, unless they come from a
   * server. Nothing is drawn ahead from a table whose draws remove items (`maxTimesSampled`) or are counted by its rate limiter.
   */
  readonly prefetch?: number;
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal;
  /** So long an async iteration of random draws waits for an element that cannot be had yet, and then ends without an error. Without it, it does not wait: EMPTY, TOO_FEW. */
  readonly timeoutMs?: number;
}

/** Options of a dataset whose windows may cross the end of an episode. */
export interface UniformDatasetOptions<S = Spec> extends AsDatasetOptions<S> {
  /**
   * Whether windows are left out that have a boundary step (`stepType` LAST) before their last step, so that no pair belongs to two episodes. Default: false, as in
   * TF-Agents. It is what the example of SAC does by hand: `unbatch`, `filter`, `batch`; elements stay full, and probabilities stay those among all windows. If few
   * windows are left, it draws among these, so that an element takes a bounded number of draws. It needs a `stepType` in the data spec and `numSteps` of 2 or more, and
   * excludes `sequencePreprocessFn`.
   */
  readonly dropBoundaries?: boolean;
}

export interface GetNextOptions {
  readonly sampleBatchSize?: number;
  readonly numSteps?: number;
  /** Whether steps are along a dimension of time; else they are a tuple. true where it is left out. */
  readonly timeStacked?: boolean;
}

export interface ClearOptions {
  /** Also what numbers episodes and frames begins anew. */
  readonly clearAllVariables?: boolean;
}

/** The contract. A spec's `[D]`, of B items and T steps: `getNext` gives [D], [B, D], [T, D] or [B, T, D], or tuples of T × [D] or [B, D]. */
// biome-ignore lint/suspicious/noExplicitAny: without a spec it is the buffer of any, and takes functions of its items
export interface ReplayBuffer<S = any> {
  /** Of one item, without dimensions of batch or time. */
  readonly dataSpec: S;
  readonly capacity: number | Promise<number>;
  /** Whether a dataset reads what changes beside it. */
  readonly statefulDataset: boolean;
  asDataset(options?: AsDatasetOptions<S>): Dataset<DatasetElement<S>>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  /** Everything, oldest first: [B, T, D]. */
  gatherAll(): StepsOf<S>;
  clear(options?: ClearOptions): void | Promise<void>;
  numFrames(): number | Promise<number>;
}

const LISTS = new WeakSet<object>();

/** A list of specs. An array is a tuple; datasets are made of tuples only, and refuse a list, as TF-Agents' do. */
export function list<const T extends readonly Spec[]>(...specs: T): T {
  LISTS.add(specs);
  return specs;
}

/** @throws RangeError where a spec has lists */
export function refuseLists(spec: Spec): void {
  if (typeof spec !== "object" || spec === null) return;
  if (LISTS.has(spec)) throw mustBe(RangeError, "dataSpec", "without list(…) for a dataset (use plain arrays)", "a list of specs");
  if (typeof (spec as { dtype?: unknown }).dtype !== "string") for (const part of Object.values(spec)) refuseLists(part);
}

const DATASET = "sampleBatchSize, numSteps, numParallelCalls, sequencePreprocessFn, singleDeterministicPass, prefetch, signal, timeoutMs";

/** An integer >= 1, or nothing. */
export function optionalCount(subject: string, value: unknown): void {
  if (value !== undefined) integer(subject, value, 1, MAX_LENGTH);
}

/** Checks the options of a dataset, and its spec. @param own names of options that only this buffer has @throws TypeError, RangeError */
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

/** Options of buffers that hold their own steps. */
export interface StoreOptions {
  /** Whether a pass in order leaves out what is shorter: windows at an end, a last batch. false where it is left out. */
  readonly datasetDropRemainder?: boolean;
  /** From window to window in a pass in order; as many as a window has where it is left out. */
  readonly datasetWindowShift?: number;
  /** Of every random draw: a whole number, or a bigint below 2^64. 0 where it is left out, so that two buffers without a seed draw alike. */
  readonly seed?: number | bigint;
  /** Memory at most. */
  readonly maxBytes?: number;
  /** Another build of the core, such as `reprise/core.wasm` where the host forbids compiling. */
  readonly module?: WebAssembly.Module;
}

export const STORE = "datasetDropRemainder, datasetWindowShift, seed, maxBytes, module";

export function checkStore({ datasetDropRemainder, datasetWindowShift }: StoreOptions): void {
  flag("datasetDropRemainder", datasetDropRemainder ?? false);
  optionalCount("datasetWindowShift", datasetWindowShift);
}
