/**
 * Implements Reverb's rate limiter: one state machine with four parameters. MinSize, SampleToInsertRatio, Queue and Stack are choices of these parameters.
 *
 * LIMITER, 48 bytes:
 *    0 │ samples u64 │ inserts u64 │
 *   16 │ LIMITER_OPTIONS (32)      │
 *
 * LIMITER_OPTIONS, 32 bytes, as `table_limits` takes them and LIMITER_OPTIONS in src/schema/rate-limiter.ts names them:
 *    0 │ samplesPerInsert f64 │ minSize f64 │ minDiff f64 │ maxDiff f64 │
 *
 * The cursor is inserts × samplesPerInsert - samples, and must stay in minDiff … maxDiff. Deletes need no count, because their number is inserts - size.
 */
@unmanaged
export class LimiterOptions {
  samplesPerInsert: f64;
  minSize: f64;
  minDiff: f64;
  maxDiff: f64;
}
/** The number of options, each an f64. */
export const LIMITER_NUMBERS: u32 = 4;
if (offsetof<LimiterOptions>() != LIMITER_NUMBERS << 3) ERROR("LIMITER_OPTIONS is an f64 for each");

const OPTIONS_AT: usize = 16;
export const LIMITER_BYTES: usize = OPTIONS_AT + offsetof<LimiterOptions>();

@unmanaged
export class RateLimiter {
  samples: u64;
  inserts: u64;

  @inline
  options(): LimiterOptions {
    return changetype<LimiterOptions>(changetype<usize>(this) + OPTIONS_AT);
  }

  @inline
  cursor(): f64 {
    return <f64>this.inserts * this.options().samplesPerInsert - <f64>this.samples;
  }

  /** Whether inserts always pass. */
  @inline
  lets(): bool {
    return this.options().maxDiff == f64.MAX_VALUE;
  }

  @inline
  canInsert(n: f64, size: u32): bool {
    return this.lets() || this.admits(n, size);
  }

  /** Up to `minSize` items, inserts always pass. */
  private admits(n: f64, size: u32): bool {
    if (<f64>size + n <= this.options().minSize) return true;
    return (n + <f64>this.inserts) * this.options().samplesPerInsert - <f64>this.samples <= this.options().maxDiff;
  }

  canSample(n: f64, size: u32): bool {
    if (<f64>size < this.options().minSize) return false;
    return this.cursor() - n >= this.options().minDiff;
  }

  /** Returns how many of n single samples would pass in sequence if no item were removed in between. */
  samplesAllowed(n: u32, size: u32): u32 {
    if (n == 0 || !this.canSample(1, size)) return 0;
    if (this.passes(n)) return n;
    // The k-th sample passes while the cursor stays at minDiff or above, which is monotone in k.
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
    return <f64>this.inserts * this.options().samplesPerInsert - <f64>(this.samples + k - 1) - 1 >= this.options().minDiff;
  }
}
if (offsetof<RateLimiter>() != OPTIONS_AT || LIMITER_BYTES != 48) ERROR("LIMITER is 48 bytes, LIMITER_OPTIONS from byte 16 on");
