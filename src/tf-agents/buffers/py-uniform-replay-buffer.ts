/** A buffer of the last items, drawn uniformly, alone or as windows of neighbours. After TF-Agents' `PyUniformReplayBuffer`. */

import { hideFrames } from "../../base/stack-trace.ts";
import type { StepsOf } from "../../batch/batch.ts";
import type { Dataset } from "../../batch/iterate.ts";
import type { Spec } from "../../schema/spec.ts";
import { type Batch, createBatchReader, type ItemsOf } from "./frames.ts";
import { type PyBufferOptions, PyItems } from "./py-items.ts";
import type { AsDatasetOptions, GetNextOptions } from "./replay-buffer.ts";

export class PyUniformReplayBuffer<const S extends Spec = Spec> {
  readonly dataSpec: S;
  readonly #toBatch: (items: unknown) => Batch;
  readonly #items: PyItems<S>;

  /** @param dataSpec of one item @throws TypeError, RangeError */
  constructor(dataSpec: S, options: PyBufferOptions) {
    hideFrames(new.target);
    this.#items = new PyItems(dataSpec, options);
    this.#toBatch = createBatchReader(dataSpec);
    this.dataSpec = dataSpec;
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
   * Adds a batch: one item, or several one after the other. Where the buffer is full, the oldest go. O(bytes)
   * @param items nested as the data spec, each leaf [batch, …]: typed arrays, nested arrays, or columns {data, shape}; numbers are converted to the leaf's dtype
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; then nothing was added
   */
  addBatch(items: ItemsOf<S>): void {
    const { rows, values } = this.#toBatch(items);
    this.#items.add(values, rows);
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

  /** Forgets all items. */
  clear(): void {
    this.#items.clear();
  }

  /** Items that there are. */
  numFrames(): number {
    return this.#items.size;
  }
}
