/** Implements the base of both prioritized buffers: priorities from errors, and importance weights. */
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

  /** The current value of beta, the exponent of the importance weights. */
  get beta(): number {
    return this.#priorities.importanceWeights.beta;
  }

  /** The priority of new items: the largest priority that an update ever set, at least 1. */
  get maxPriority(): number {
    return this.#priorities.max;
  }

  /** Whether the last sample still needs `updateErrors`. */
  get waiting(): boolean {
    return this.#priorities.last.waiting;
  }

  /** The keys of the items in the last sample whose errors are not known yet. */
  get waitingKeys(): Float64Array<ArrayBuffer> {
    return this.#priorities.last.keys.slice();
  }

  /**
   * Sets priorities from errors. Without keys, the errors belong to the last sample, and this form can be called once per sample. With keys, the errors belong
   * to the items of these keys, and the call is allowed at any time. Keys of evicted items are skipped. Costs O(n log size). If the call throws, nothing has
   * changed.
   * @returns the number of items that still existed
   * @throws TypeError if an argument is invalid
   * @throws RangeError if the number of errors is wrong, or if a priority is not finite and above 0
   * @throws ReplayError OUT_OF_TURN if keys are omitted and no sample is waiting for errors
   */
  updateErrors(errors: ArrayLike<number> | ColumnLike, keys?: ArrayLike<number> | ColumnLike): number {
    this.#stored.check();
    this.#stored.onPriorityUpdate();
    return this.#priorities.update(this.#stored.contents?.items, dataBeside("errors", errors, keys), dataOf("keys", keys));
  }

  /**
   * Converts errors to priorities as `updateErrors` does, but changes no priority. @throws TypeError if `errors` is not an array of numbers · RangeError if a
   * priority is not a real number
   */
  priorityFromErrors(errors: ArrayLike<number>): number[] {
    return this.#priorities.fromErrors(errors, this.#stored.contents?.steps);
  }

  /**
   * Converts probabilities to importance weights, and advances `beta` as a sample does. @param minProbability the smallest probability of any item, from which
   * weights are computed only with `normalizeByMax: "memory"` @throws TypeError if `probabilities` is not an array of numbers · RangeError if a probability is
   * not above 0
   */
  weightsFromProbabilities(probabilities: ArrayLike<number>, minProbability: number): number[] {
    return this.#priorities.toWeights(probabilities, minProbability, this.length, this.#stored.contents?.steps);
  }

  /** Returns the keys and priorities of all items, oldest first. In a buffer of whole episodes, the items are the episodes. Costs O(size). */
  priorities(): { readonly keys: Float64Array<ArrayBuffer>; readonly priorities: Float64Array<ArrayBuffer> } {
    const items = this.#stored.contents?.items;
    const slots = items?.slots() ?? new Uint32Array(0);
    return {
      keys: Float64Array.from(slots, (slot) => items?.keyOf(slot) as number),
      priorities: Float64Array.from(slots, (slot) => items?.priorityOf(slot) as number),
    };
  }
}
