/** Implements the common part of both prioritized buffers: priorities from errors, and importance weights. */
import { type ColumnLike, dataBeside, dataOf } from "../../schema/column.ts";
import type { Content } from "../files/loader.ts";
import type { Priorities } from "../store/priorities.ts";
import type { Stored } from "../store/stored.ts";
import { StoredBuffer } from "./stored-buffer.ts";

export abstract class PrioritizedBuffer<B, T> extends StoredBuffer<B, T> {
  readonly #priorities: Priorities;
  readonly #stored: Stored;

  constructor(stored: Stored, content: Content, priorities: Priorities) {
    super(stored, content);
    this.#stored = stored;
    this.#priorities = priorities;
  }

  /** The current beta. */
  get beta(): number {
    return this.#priorities.importanceWeights.beta;
  }

  /** The priority of new items: the largest one that an update ever set, at least 1. */
  get maxPriority(): number {
    return this.#priorities.max;
  }

  /** Whether the last sample has not been updated yet. */
  get waiting(): boolean {
    return this.#priorities.last.waiting;
  }

  /** The keys of that sample. */
  get waitingKeys(): Float64Array<ArrayBuffer> {
    return this.#priorities.last.keys.slice();
  }

  /**
   * Sets priorities from the errors of the last sample's items, once per sample. With keys, sets those of any items at any time; items that were evicted are
   * skipped. O(n log size)
   * @returns the number of items that still exist
   * @throws TypeError, RangeError (a priority must be finite and above 0) · ReplayError OUT_OF_TURN. After an error nothing has changed
   */
  updateErrors(errors: ArrayLike<number> | ColumnLike, keys?: ArrayLike<number> | ColumnLike): number {
    this.#stored.check();
    this.#stored.onPriorityUpdate();
    return this.#priorities.update(this.#stored.contents?.items, dataBeside("errors", errors, keys), dataOf("keys", keys));
  }

  /** Returns the priorities for errors. */
  priorityFromErrors(errors: ArrayLike<number>): number[] {
    return this.#priorities.fromErrors(errors, this.#stored.contents?.steps);
  }

  /** Returns the importance weights for probabilities, and advances `beta` like a sample. @param minProbability the smallest probability in the memory */
  weightsFromProbabilities(probabilities: ArrayLike<number>, minProbability: number): number[] {
    return this.#priorities.toWeights(probabilities, minProbability, this.length, this.#stored.contents?.steps);
  }

  /** Returns the keys and priorities of all items, oldest first; for whole episodes, those of all episodes. O(size) */
  priorities(): { readonly keys: Float64Array<ArrayBuffer>; readonly priorities: Float64Array<ArrayBuffer> } {
    const items = this.#stored.contents?.items;
    const slots = items?.slots() ?? new Uint32Array(0);
    return {
      keys: Float64Array.from(slots, (slot) => items?.keyOf(slot) as number),
      priorities: Float64Array.from(slots, (slot) => items?.priorityOf(slot) as number),
    };
  }
}
