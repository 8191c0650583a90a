/**
 * Reverb's rate limiter: one state machine with four numbers. MinSize, SampleToInsertRatio, Queue and Stack are choices of those numbers.
 *
 * LIMITER, 48 bytes:
 *    0 │ inserts u64 │ samples u64 │
 *   16 │ samplesPerInsert f64 │ minDiff f64 │ maxDiff f64 │ minSize f64 │
 *
 * The cursor is inserts × samplesPerInsert - samples, and it must stay in minDiff … maxDiff. Deletes need no count: they are inserts - size.
 */
@unmanaged
export class RateLimiter {
  inserts: u64;
  samples: u64;
  samplesPerInsert: f64;
  minDiff: f64;
  maxDiff: f64;
  minSize: f64;

  @inline
  cursor(): f64 {
    return <f64>this.inserts * this.samplesPerInsert - <f64>this.samples;
  }

  /** Whether inserts are never refused. */
  @inline
  lets(): bool {
    return this.maxDiff == f64.MAX_VALUE;
  }

  @inline
  canInsert(n: f64, size: u32): bool {
    return this.lets() || this.admits(n, size);
  }

  /** Up to `minSize` items inserts always pass. */
  private admits(n: f64, size: u32): bool {
    if (<f64>size + n <= this.minSize) return true;
    return (n + <f64>this.inserts) * this.samplesPerInsert - <f64>this.samples <= this.maxDiff;
  }

  canSample(n: f64, size: u32): bool {
    if (<f64>size < this.minSize) return false;
    return this.cursor() - n >= this.minDiff;
  }

  /** How many of n single samples would pass one after the other, if no item left in between. */
  samplesAllowed(n: u32, size: u32): u32 {
    if (n == 0 || !this.canSample(1, size)) return 0;
    if (this.passes(n)) return n;
    // The k-th sample passes while the cursor stays at minDiff or above: monotone in k.
    let low: u32 = 1;
    let high = n;
    while (high - low > 1) {
      const middle = low + ((high - low) >> 1);
      if (this.passes(middle)) low = middle;
      else high = middle;
    }
    return low;
  }

  @inline
  private passes(k: u32): bool {
    return <f64>this.inserts * this.samplesPerInsert - <f64>(this.samples + k - 1) - 1 >= this.minDiff;
  }
}
if (offsetof<RateLimiter>() != 48) ERROR("LIMITER is 48 bytes");
