/** Keeps the items of the last sample, which wait for their errors. */
import { countText, described, mustBe, ReplayError } from "../../base/error.ts";

export class LastSample {
  /** Whether samples and updates must alternate. */
  readonly alternate: boolean;
  /** Whether items of the last sample still wait for errors. */
  waiting = false;
  #keys = new Float64Array(0);
  #count = 0;

  constructor(alternate: boolean) {
    this.alternate = alternate;
  }

  /** The keys of the items that wait for errors. */
  get keys(): Float64Array {
    return this.waiting ? this.#keys.subarray(0, this.#count) : new Float64Array(0);
  }

  /** @throws ReplayError OUT_OF_TURN if samples and updates must alternate, and items of the last sample still wait for errors */
  maySample(): void {
    if (this.waiting && this.alternate)
      throw new ReplayError("OUT_OF_TURN", "the last sample is waiting for its errors. Call updateErrors() first, or set waitPriorityAfterSampling: false");
  }

  /** Records the n items of a sample, which then wait for errors. */
  record(keys: Float64Array, n: number): void {
    if (this.#keys.length < n) this.#keys = new Float64Array(n);
    for (let i = 0; i < n; i++) this.#keys[i] = keys[i] as number;
    this.#count = n;
    this.waiting = true;
  }

  /**
   * Returns an array that begins with the keys of the n waiting items. @throws ReplayError OUT_OF_TURN if no items wait · RangeError if n is not their number
   */
  mayUpdate(n: number): Float64Array {
    if (!this.waiting) throw new ReplayError("OUT_OF_TURN", "no sample is waiting for errors. Call updateErrors() only once per sample, or pass keys");
    if (n !== this.#count)
      throw mustBe(RangeError, "errors", `${countText(this.#count, "number")}, one per item of the last sample`, described(countText(n, "number")));
    return this.#keys;
  }

  /** Records that the items with these keys have received errors. The other items still wait. */
  onUpdate(keys: ArrayLike<number>, n: number): void {
    if (!this.waiting) return;
    // The common case: the keys of the batch, in order.
    let areSame = n === this.#count;
    for (let i = 0; areSame && i < this.#count; i++) areSame = keys[i] === this.#keys[i];
    if (areSame) {
      this.waiting = false;
      return;
    }
    const done = new Set(Array.from(keys));
    const remaining = Array.from(this.#keys.subarray(0, this.#count)).filter((key) => !done.has(key));
    this.#keys.set(remaining);
    this.#count = remaining.length;
    this.waiting = remaining.length > 0;
  }

  /** Restores the waiting keys that another buffer saved; null if no keys were waiting. */
  restore(keys: Float64Array | null): void {
    this.waiting = keys !== null;
    if (keys === null) return;
    this.#keys = keys.slice();
    this.#count = keys.length;
  }

  /** Records that all items have received errors. */
  done(): void {
    this.waiting = false;
  }
}
