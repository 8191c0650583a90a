/** What both prioritized buffers have: priorities by errors, and importance weights. */
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

  /** What beta is now. */
  get beta(): number {
    return this.#priorities.importanceWeights.beta;
  }

  /** With which new items are stored: the largest priority that an update ever set, 1 at least. */
  get maxPriority(): number {
    return this.#priorities.max;
  }

  /** Whether there was a sample that has not been updated since. */
  get waiting(): boolean {
    return this.#priorities.last.waiting;
  }

  /** Its keys. */
  get waitingKeys(): Float64Array<ArrayBuffer> {
    return this.#priorities.last.keys.slice();
  }

  /**
   * New priorities by the errors of the last sample's items, once; or of any items by their keys, as late and as often as one likes: what has left meanwhile is skipped.
   * O(n log size)
   * @returns how many were there
   * @throws TypeError, RangeError (a priority must be finite and above 0) · ReplayError OUT_OF_TURN; and then nothing changed
   */
  updateErrors(errors: ArrayLike<number> | ColumnLike, keys?: ArrayLike<number> | ColumnLike): number {
    this.#stored.check();
    this.#stored.onPriorityUpdate();
    return this.#priorities.update(this.#stored.contents?.items, dataBeside("errors", errors, keys), dataOf("keys", keys));
  }

  /** The priorities that errors would become. */
  priorityFromErrors(errors: ArrayLike<number>): number[] {
    return this.#priorities.fromErrors(errors, this.#stored.contents?.steps);
  }

  /** The importance weights of probabilities; `beta` goes on as by a sample. @param minProbability the least that the memory could give */
  weightsFromProbabilities(probabilities: ArrayLike<number>, minProbability: number): number[] {
    return this.#priorities.toWeights(probabilities, minProbability, this.length, this.#stored.contents?.steps);
  }

  /** Keys and priorities of all items, of whole episodes all episodes, oldest first. O(size) */
  priorities(): { readonly keys: Float64Array<ArrayBuffer>; readonly priorities: Float64Array<ArrayBuffer> } {
    const items = this.#stored.contents?.items;
    const slots = items?.slots() ?? new Uint32Array(0);
    return {
      keys: Float64Array.from(slots, (slot) => items?.keyOf(slot) as number),
      priorities: Float64Array.from(slots, (slot) => items?.priorityOf(slot) as number),
    };
  }
}
