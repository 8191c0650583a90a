/**
 * Computes a seeded order of the numbers below 2^bits, without storing it: four rounds of a Feistel network (Luby and Rackoff, 1988, with lighter outer rounds
 * as in Naor and Reingold, 1999) over two halves, of which the upper one may be one bit shorter. Each number below 2^bits has one place in the order. To order
 * fewer numbers, skip the others.
 *
 * PERMUTATION, 64 bytes:
 * 0 │ RANDOM (32)                    │  its words are the keys of the rounds, u64 each, generated from a seed with the epoch as the stream
 * 32 │ lowBits u32      │ highBits u32 │
 * 40 │ (24)                           │
 */
import { random_init } from "../memory/random";

const KEYS_BYTES: usize = 32;
/** The minimum number of bits in both halves together, so that even a few numbers have many possible orders. */
const LEAST_BITS: u32 = 8;

@unmanaged
export class Permutation {
  key0: u64;
  key1: u64;
  key2: u64;
  key3: u64;
  lowBits: u32;
  highBits: u32;
  unused0: u64;
  unused1: u64;
  unused2: u64;

  /** Begins an order of the numbers below a power of 2 that is at least `n`. Returns that power, which is the number of places. */
  begin(n: u32, seed: u32, epoch: u32): u32 {
    random_init(changetype<usize>(this), seed, 0, epoch);
    const bits = bitsOf(n);
    this.lowBits = (bits + 1) >> 1;
    this.highBits = bits >> 1;
    return 1 << bits;
  }

  /** Returns the number at a place. */
  @inline
  at(place: u32): u32 {
    const lowBits = this.lowBits;
    const highBits = this.highBits;
    let low = place & ((1 << lowBits) - 1);
    let high = place >> lowBits;
    high ^= Permutation.mix(low, this.key0) >> (32 - highBits);
    low ^= Permutation.mix(high, this.key1) >> (32 - lowBits);
    high ^= Permutation.mix(low, this.key2) >> (32 - highBits);
    low ^= Permutation.mix(high, this.key3) >> (32 - lowBits);
    return (high << lowBits) | low;
  }

  /** Mixes a half with a key by two multiplications with odd factors. Returns the upper 32 bits of the product, because the upper bits are mixed best. */
  @inline
  private static mix(half: u32, key: u64): u32 {
    const x = (<u64>half + (key >> 32) + 1) * (key | 1);
    return <u32>(((x ^ (x >> 29)) * 0xbf58476d1ce4e5b9) >> 32);
  }
}
if (offsetof<Permutation>("lowBits") != KEYS_BYTES || offsetof<Permutation>() != 64) ERROR("PERMUTATION is 64 bytes");

function bitsOf(n: u32): u32 {
  return max(LEAST_BITS, 32 - clz(max(n, 1) - 1));
}

/** Returns the number of places in an order of n numbers. */
export function placesOf(n: u32): u32 {
  return 1 << bitsOf(n);
}
