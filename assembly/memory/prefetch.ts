/**
 * Brings memory into the cache before a batch needs it. WebAssembly has no prefetch instructions, so these functions use loads. The shorter a loop, the more of
 * its cache misses overlap.
 */
import { Bytes } from "./bytes";
import { header } from "./layout";

@unmanaged
export class Prefetch {
  /** Reads a word at `base + number × bytes` for each number (u32) that is stored from `at` to `end`. */
  @inline
  static touch(at: usize, end: usize, base: usize, bytes: u32): void {
    let sum: u32 = 0;
    // The numbers are read in groups of eight, because the loop overhead matters.
    for (; at + 32 <= end; at += 32) {
      sum ^=
        Prefetch.word(load<u32>(at), base, bytes) ^
        Prefetch.word(load<u32>(at, 4), base, bytes) ^
        Prefetch.word(load<u32>(at, 8), base, bytes) ^
        Prefetch.word(load<u32>(at, 12), base, bytes) ^
        Prefetch.word(load<u32>(at, 16), base, bytes) ^
        Prefetch.word(load<u32>(at, 20), base, bytes) ^
        Prefetch.word(load<u32>(at, 24), base, bytes) ^
        Prefetch.word(load<u32>(at, 28), base, bytes);
    }
    for (; at < end; at += 4) sum ^= Prefetch.word(load<u32>(at), base, bytes);
    Prefetch.keep(sum);
  }

  /**
   * Stores the sum of the reads in the header, so that no compiler removes the reads. The sum is not stored in a draw, which becomes part of a batch: a
   * restored Replay must return the same batches, but its sums differ.
   */
  @inline
  static keep(sum: u32): void {
    header().prefetched = sum;
  }

  @inline
  private static word(number: u32, base: usize, bytes: u32): u32 {
    return load<u32>(base + <usize>(number * bytes));
  }

  /** Copies `bytes` bytes (16 to 64) from each address (u32) that is stored from `at` to `end`. The copies are consecutive from `to` on. */
  static copy(at: usize, end: usize, bytes: u32, to: usize): void {
    switch ((bytes + 15) >> 4) {
      case 1:
        return Prefetch.copyEach(at, end, bytes, to, 1);
      case 2:
        return Prefetch.copyEach(at, end, bytes, to, 2);
      case 3:
        return Prefetch.copyEach(at, end, bytes, to, 3);
      default:
        return Prefetch.copyEach(at, end, bytes, to, 4);
    }
  }

  /** Implements `copy` with `wide` vectors of 16 bytes per address. `wide` is a constant, so that the compiler generates a separate loop for each value. */
  @inline
  private static copyEach(at: usize, end: usize, bytes: u32, to: usize, wide: u32): void {
    for (; at + 16 <= end; at += 16) {
      Prefetch.copyOne(to, load<u32>(at), bytes, wide);
      to += bytes;
      Prefetch.copyOne(to, load<u32>(at, 4), bytes, wide);
      to += bytes;
      Prefetch.copyOne(to, load<u32>(at, 8), bytes, wide);
      to += bytes;
      Prefetch.copyOne(to, load<u32>(at, 12), bytes, wide);
      to += bytes;
    }
    for (; at < end; at += 4, to += bytes) Prefetch.copyOne(to, load<u32>(at), bytes, wide);
  }

  /** Copies `wide` vectors of 16 bytes; the last vector may overlap the one before. */
  @inline
  private static copyOne(to: usize, from: usize, bytes: u32, wide: u32): void {
    const last = <usize>bytes - 16;
    if (wide > 2) Bytes.copy32(to, from);
    else if (wide > 1) Bytes.copy16(to, from);
    if (wide > 3) Bytes.copy16(to + 32, from + 32);
    Bytes.copy16(to + last, from + last);
  }
}
