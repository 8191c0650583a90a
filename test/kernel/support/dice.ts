/** Generates seeded random numbers for specs with mulberry32, which is not the generator of the core. */
export class Dice {
  state: u32;

  constructor(seed: u32) {
    this.state = seed;
  }

  next(): u32 {
    this.state += 0x6d2b79f5;
    let z = this.state;
    z = (z ^ (z >> 15)) * (z | 1);
    z ^= z + (z ^ (z >> 7)) * (z | 61);
    return z ^ (z >> 14);
  }

  /** Returns an integer in [0, n). */
  below(n: u32): u32 {
    return <u32>((<u64>this.next() * n) >> 32);
  }

  /** Returns a number in [0, 1). */
  fraction(): f64 {
    return <f64>this.next() / 4294967296.0;
  }
}
