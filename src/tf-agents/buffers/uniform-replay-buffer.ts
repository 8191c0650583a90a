/** Implements a buffer of the last frames of several environments in lock-step, drawn uniformly. Modelled on `TFUniformReplayBuffer` of TF-Agents. */

import { flag, integer, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { StepsOf } from "../../batch/batch.ts";
import type { Dataset } from "../../batch/iterate.ts";
import type { Spec } from "../../schema/spec.ts";
import { FrameSegments } from "./frame-segments.ts";
import { type Batch, createBatchReader, type ItemsOf } from "./frames.ts";
import {
  type ClearOptions,
  checkDataset,
  checkStore,
  type Element,
  type GetNextOptions,
  type ReplayBuffer,
  type SeparateElement,
  STORE,
  type StoreOptions,
  type UniformDatasetOptions,
} from "./replay-buffer.ts";

export interface UniformOptions extends StoreOptions {
  /** The number of environments in lock-step, with one segment each. */
  readonly batchSize: number;
  /** The maximum number of frames per segment. Default: 1,000. */
  readonly maxLength?: number;
  /** The value of the property `statefulDataset`. Default: false. It changes no result. */
  readonly statefulDataset?: boolean;
}

export class TFUniformReplayBuffer<const S extends Spec = Spec> implements ReplayBuffer<S> {
  readonly dataSpec: S;
  readonly batchSize: number;
  readonly maxLength: number;
  readonly statefulDataset: boolean;
  readonly #segments: FrameSegments<S>;
  readonly #toBatch: (items: unknown, rows?: number) => Batch;

  /**
   * Creates an empty buffer. It allocates 4 bytes per frame immediately; each added frame takes its bytes and 12 more.
   * @throws TypeError, RangeError
   */
  constructor(dataSpec: S, options: UniformOptions) {
    hideFrames(new.target);
    const { batchSize, maxLength = 1000, statefulDataset = false } = onlyKeys("options", options, `batchSize, maxLength, statefulDataset, ${STORE}`);
    checkStore(options);
    this.batchSize = integer("batchSize", batchSize, 1, 65536);
    this.maxLength = integer("maxLength", maxLength, 1, MAX_LENGTH);
    this.statefulDataset = flag("statefulDataset", statefulDataset) !== 0;
    this.dataSpec = dataSpec;
    this.#segments = new FrameSegments(dataSpec, { ...options, batchSize, maxLength });
    this.#toBatch = createBatchReader(dataSpec);
  }

  /** The maximum number of frames in all segments together. */
  get capacity(): number {
    return this.batchSize * this.maxLength;
  }

  /**
   * Adds one frame per segment. When the segments are full, the oldest frames are evicted.
   * @param items nested like the data spec, each leaf [batchSize, …]: typed arrays, nested arrays, or columns {data, shape}; numbers are converted to the
   * leaf's dtype
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; nothing was added then
   */
  addBatch(items: ItemsOf<S>): void {
    const { values } = this.#toBatch(items, this.batchSize);
    this.#segments.append(values);
  }

  /**
   * Draws uniformly from the newest state: any segment, and any start of a window in it. No window crosses a segment. As in TF-Agents, a window may cross the
   * end of an episode: its boundary step (`stepType` LAST) then comes before its last step, and another episode follows. `asDataset` leaves such windows out
   * with `dropBoundaries`. The ids are the times of the frames, one per frame. O(sampleBatchSize × bytes of a window)
   * @returns [items, {ids, probabilities}]; by (sampleBatchSize, numSteps): [D], [B, D], [T, D], [B, T, D]; without timeStacked a tuple of T
   * @throws ReplayError EMPTY, TOO_FEW (fewer frames per segment than numSteps)
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): SeparateElement<S>;
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): Element<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  getNext(options: GetNextOptions = {}): Element<S> | SeparateElement<S> {
    return this.#segments.getNext(options);
  }

  /**
   * Returns an endless series of draws like those of `getNext`, or one pass: segment by segment in order of time, or with sampleBatchSize = k, k segments in
   * parallel. The ids of a pass are segment × maxLength + time; a pass has no probabilities. Windows shorter than numSteps occur at a segment's end, but not in
   * batches. Frames that are evicted during a pass are left out.
   *
   * As in TF-Agents, windows may cross the end of an episode, so that a pair may consist of a boundary step and the first step of the next episode.
   * `dropBoundaries` leaves such windows out and fills elements of the same size with the others; only the last element of a pass is shorter, or dropped with
   * `datasetDropRemainder`.
   * @throws RangeError for options that can never return an element; ReplayError SPEC_MISMATCH for `dropBoundaries` without a `stepType` · while iterating
   * EMPTY, TOO_FEW, also if every window crosses an episode's end
   */
  asDataset(options: UniformDatasetOptions<S> = {}): Dataset<Element<S>> {
    const { dropBoundaries = false } = checkDataset(this.dataSpec, options, "dropBoundaries") as UniformDatasetOptions<S>;
    const { dropBoundaries: _, ...rest } = options;
    return flag("dropBoundaries", dropBoundaries) !== 0 ? this.#segments.datasetWithin(rest) : this.#segments.dataset(rest, (element) => element);
  }

  /** Returns all frames, each leaf [batchSize, T, …], oldest first. T is 0 if there are none. */
  gatherAll(): StepsOf<S> {
    return this.#segments.gatherAll();
  }

  /** Drops all frames; times restart at 0. */
  clear(options: ClearOptions = {}): void {
    flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    this.#segments.clear();
  }

  /** Returns the number of frames in all segments together. */
  numFrames(): number {
    return this.#segments.size;
  }
}
