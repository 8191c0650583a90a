/** Seeded random numbers for sources and rivals: Marsaglia's xorshift32 (2003), one of the cheapest in JavaScript, so that it slows no rival. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = Math.imul(seed, 0x9e3779b1) | 1;
  }

  /** Returns a 32-bit number in [0, 1). */
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
