/** A buffer of frames: the last ones of some environments in lock-step, drawn uniformly. After TF-Agents' `TFUniformReplayBuffer`. */

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
  /** Environments in lock-step: one segment each. */
  readonly batchSize: number;
  /** Frames a segment at most; 1,000 where it is left out. */
  readonly maxLength?: number;
  /** What `statefulDataset` says; false where it is left out. It changes no result. */
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
   * Takes 4 bytes a frame at once, the frames' own bytes and 12 more each as they come.
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

  /** Frames at most, of all segments together. */
  get capacity(): number {
    return this.batchSize * this.maxLength;
  }

  /**
   * Adds one frame a segment; where they are full, the oldest go.
   * @param items nested as the data spec, each leaf [batchSize, …]: typed arrays, nested arrays, or columns {data, shape}; numbers are converted to the leaf's dtype
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; then nothing was added
   */
  addBatch(items: ItemsOf<S>): void {
    const { values } = this.#toBatch(items, this.batchSize);
    this.#segments.append(values);
  }

  /**
   * Draws from the newest state: any segment and any start of a window in it, all alike. No window crosses a segment.
   * A window may cross the end of an episode, as in TF-Agents: its boundary step (`stepType` LAST) then comes before its last step, and what follows is another episode.
   * `asDataset` leaves such windows out with `dropBoundaries`.
   * Ids are the frames' times, one a frame. O(sampleBatchSize × bytes of a window)
   * @returns [items, {ids, probabilities}]; by (sampleBatchSize, numSteps): [D], [B, D], [T, D], [B, T, D]; without timeStacked a tuple of T
   * @throws ReplayError EMPTY, TOO_FEW (fewer frames a segment than numSteps)
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): SeparateElement<S>;
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): Element<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  getNext(options: GetNextOptions = {}): Element<S> | SeparateElement<S> {
    return this.#segments.getNext(options);
  }

  /**
   * Random draws like those of `getNext`, without end; or one pass: segment by segment in order of time, or with sampleBatchSize = k, k segments side by side.
   * Ids of a pass are segment × maxLength + time; it has no probabilities. Windows shorter than numSteps come at a segment's end, but not in batches.
   * Frames that leave during a pass are left out.
   * Windows may cross the end of an episode, as in TF-Agents, so that a pair may have a boundary step and the first step of the next episode. With `dropBoundaries`, they
   * are left out, and what is left is put together to elements of the same size; only the last one of a pass is shorter, or dropped with `datasetDropRemainder`.
   * @throws RangeError for what can never come; ReplayError SPEC_MISMATCH for `dropBoundaries` without a `stepType` · in the iteration EMPTY, TOO_FEW, also where every
   * window crosses an episode's end
   */
  asDataset(options: UniformDatasetOptions<S> = {}): Dataset<Element<S>> {
    const { dropBoundaries = false } = checkDataset(this.dataSpec, options, "dropBoundaries") as UniformDatasetOptions<S>;
    const { dropBoundaries: _, ...rest } = options;
    return flag("dropBoundaries", dropBoundaries) !== 0 ? this.#segments.datasetWithin(rest) : this.#segments.dataset(rest, (element) => element);
  }

  /** All frames, each leaf [batchSize, T, …], oldest first. T is 0 where there are none. */
  gatherAll(): StepsOf<S> {
    return this.#segments.gatherAll();
  }

  /** Forgets all frames; times begin with 0 again. */
  clear(options: ClearOptions = {}): void {
    flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    this.#segments.clear();
  }

  /** Frames of all segments together. */
  numFrames(): number {
    return this.#segments.size;
  }
}
