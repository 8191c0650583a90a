/** Generates the inspector's own random numbers, so that the random state of tables does not change. */

const STEP = 0x9e3779b9;

export class Random {
  #state: number;

  constructor(seed = 1) {
    this.#state = seed >>> 0;
  }

  /** Returns 32 bits of a Weyl sequence, mixed with the finalizer of MurmurHash3. */
  next(): number {
    this.#state = (this.#state + STEP) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  }

  /** Returns an integer in 0 … n - 1; n is at most 2^32. */
  integerBelow(n: number): number {
    return Math.floor((this.next() / 2 ** 32) * n);
  }

  /** Fills a random state for a draw. */
  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.next();
  }
}
