/** Implements xoshiro256** and its draws a second time, with BigInt and from the papers, to predict the draws of the core. */
const MASK = (1n << 64n) - 1n;

function rotl(x: bigint, k: bigint): bigint {
  return ((x << k) | (x >> (64n - k))) & MASK;
}

/** Applies the finalizer of splitmix64. */
function mix(z: bigint): bigint {
  const a = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  const b = ((a ^ (a >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return b ^ (b >> 31n);
}

export class Xoshiro {
  #s0: bigint;
  #s1: bigint;
  #s2: bigint;
  #s3: bigint;

  constructor(seedLow: number, seedHigh = 0, stream = 0) {
    let s = mix((BigInt(seedHigh) << 32n) | BigInt(seedLow)) ^ mix(~BigInt(stream) & MASK);
    const next = () => {
      s = (s + 0x9e3779b97f4a7c15n) & MASK;
      return mix(s);
    };
    this.#s0 = next();
    this.#s1 = next();
    this.#s2 = next();
    this.#s3 = next();
  }

  next(): bigint {
    const result = (rotl((this.#s1 * 5n) & MASK, 7n) * 9n) & MASK;
    const t = (this.#s1 << 17n) & MASK;
    this.#s2 ^= this.#s0;
    this.#s3 ^= this.#s1;
    this.#s1 ^= this.#s2;
    this.#s0 ^= this.#s3;
    this.#s2 ^= t;
    this.#s3 = rotl(this.#s3, 45n);
    return result;
  }

  /** Returns a number in [0, 1): the top 53 bits. */
  unit(): number {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  /** Returns an integer in [0, n) with Lemire's method and rejection. */
  below(n: number): number {
    const range = BigInt(n);
    const reject = (1n << 32n) % range;
    for (;;) {
      const m = (this.next() >> 32n) * range;
      if ((m & 0xffffffffn) >= reject) return Number(m >> 32n);
    }
  }
}
