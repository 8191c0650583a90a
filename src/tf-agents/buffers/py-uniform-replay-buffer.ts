/**
 * Implements a buffer of the last items. Draws are uniform, and return single items or windows of consecutive items. Modelled on `PyUniformReplayBuffer` of
 * TF-Agents.
 */

import { hideFrames } from "../../base/stack-trace.ts";
import type { Spec } from "../../schema/spec.ts";
import { type Batch, createBatchReader, type ItemsOf } from "./frames.ts";
import { PyBuffer, type PyBufferOptions, PyItems } from "./py-items.ts";

export class PyUniformReplayBuffer<const S extends Spec = Spec> extends PyBuffer<S> {
  readonly #toBatch: (items: unknown) => Batch;
  readonly #items: PyItems<S>;

  /**
   * Creates an empty buffer.
   * @param dataSpec the spec of one item
   * @throws TypeError, RangeError if an option is invalid
   */
  constructor(dataSpec: S, options: PyBufferOptions) {
    hideFrames(new.target);
    const items = new PyItems<S>(dataSpec, options);
    super(dataSpec, items as unknown as PyItems<Spec>);
    this.#items = items;
    this.#toBatch = createBatchReader(dataSpec);
  }

  /**
   * Adds a batch of one item or of several consecutive items. If the buffer is full, the oldest items are evicted. Costs O(bytes). If the call throws, nothing
   * was added.
   * @param items nested like the data spec, each leaf [batch, …]: typed arrays, nested arrays, or columns {data, shape}; numbers are converted to the leaf's
   * dtype
   * @throws ReplayError SPEC_MISMATCH if the items do not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  addBatch(items: ItemsOf<S>): void {
    const { rows, values } = this.#toBatch(items);
    this.#items.add(values, rows);
  }

  /** Drops all items. */
  clear(): void {
    this.#items.clear();
  }
}
