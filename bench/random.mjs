/** Generates seeded random numbers for sources and rivals with Marsaglia's xorshift32 (2003), which is fast enough not to slow any rival down. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = Math.imul(seed, 0x9e3779b1) | 1;
  }

  /** Returns a number in [0, 1) with 32 random bits. */
  next() {
    let s = this.#state;
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    this.#state = s;
    return (s >>> 0) * 2.3283064365386963e-10;
  }

  /** Returns an integer in [0, n). */
  below(n) {
    return (this.next() * n) | 0;
  }
}
