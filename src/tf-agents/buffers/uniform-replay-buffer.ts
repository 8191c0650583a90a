/**
 * Implements a buffer of the last frames of several environments that run in lock-step. Frames are drawn uniformly. Modelled on `TFUniformReplayBuffer` of
 * TF-Agents.
 */

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
  /** The number of environments in lock-step. Each environment has one segment. */
  readonly batchSize: number;
  /** The maximum number of frames per segment. Default: 1,000. */
  readonly maxLength?: number;
  /** The value of the property `statefulDataset`, which has no effect. Default: false. */
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
   * Creates an empty buffer. The buffer allocates 4 bytes per frame immediately. Each added frame takes its own bytes plus 12 more.
   * @throws TypeError, RangeError if an option is invalid
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
   * Adds one frame per segment. If the segments are full, the oldest frames are evicted. If the call throws, nothing was added.
   * @param items nested like the data spec, each leaf [batchSize, …]: typed arrays, nested arrays, or columns {data, shape}; numbers are converted to the
   * leaf's dtype
   * @throws ReplayError SPEC_MISMATCH if the items do not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  addBatch(items: ItemsOf<S>): void {
    const { values } = this.#toBatch(items, this.batchSize);
    this.#segments.append(values);
  }

  /**
   * Draws an item or a window uniformly from the newest state. Every segment, and every start of a window in the segment, is equally likely. A window never
   * spans two segments.
   *
   * As in TF-Agents, a window may cross the end of an episode. Such a window has a boundary step (`stepType` LAST) before its last step, followed by steps of
   * another episode. To leave such windows out, use `asDataset` with `dropBoundaries`. The ids are the times of the frames, one per frame. Costs
   * O(sampleBatchSize × bytes of a window).
   * @returns [items, {ids, probabilities}]. The items are [D], [B, D], [T, D] or [B, T, D], depending on sampleBatchSize and numSteps. With `timeStacked:
   * false`, they are a tuple of T steps
   * @throws ReplayError EMPTY if the buffer is empty
   * @throws ReplayError TOO_FEW if there are fewer frames per segment than numSteps
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): SeparateElement<S>;
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): Element<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  getNext(options: GetNextOptions = {}): Element<S> | SeparateElement<S> {
    return this.#segments.getNext(options);
  }

  /**
   * Returns an endless series of draws like those of `getNext`. With `singleDeterministicPass`, returns one pass, segment by segment in chronological order.
   * With sampleBatchSize = k, a pass reads k segments in parallel. The ids of a pass are segment × maxLength + time, and a pass has no probabilities. Windows
   * shorter than numSteps occur at the end of a segment, but not in batches. Frames that are evicted during a pass are left out.
   *
   * As in TF-Agents, windows may cross the end of an episode. For example, a window of two steps may consist of a boundary step and the first step of the next
   * episode. `dropBoundaries` leaves such windows out and fills elements with other windows. Only the last element of a pass may be shorter.
   * `datasetDropRemainder` drops that element.
   * @throws RangeError if the options can never return an element
   * @throws ReplayError SPEC_MISMATCH if `dropBoundaries` is set and the spec has no `stepType`
   * @throws ReplayError EMPTY during iteration if the buffer is empty
   * @throws ReplayError TOO_FEW during iteration if there are fewer frames per segment than numSteps, or if every window crosses the end of an episode
   */
  asDataset(options: UniformDatasetOptions<S> = {}): Dataset<Element<S>> {
    const { dropBoundaries = false } = checkDataset(this.dataSpec, options, "dropBoundaries") as UniformDatasetOptions<S>;
    const { dropBoundaries: _, ...rest } = options;
    return flag("dropBoundaries", dropBoundaries) !== 0 ? this.#segments.datasetWithin(rest) : this.#segments.dataset(rest, (element) => element);
  }

  /** Returns all frames, each leaf [batchSize, T, …], oldest first. T is 0 if there are no frames. */
  gatherAll(): StepsOf<S> {
    return this.#segments.gatherAll();
  }

  /** Drops all frames. Times restart at 0. */
  clear(options: ClearOptions = {}): void {
    flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    this.#segments.clear();
  }

  /** Returns the number of frames in all segments together. */
  numFrames(): number {
    return this.#segments.size;
  }
}
