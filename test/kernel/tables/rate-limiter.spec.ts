import { RateLimiter } from "../../../assembly/tables/rate-limiter";
import { Dice } from "../support/dice";

const at: usize = memory.data(48, 16);

function limiter(samplesPerInsert: f64, minSize: f64, minDiff: f64, maxDiff: f64): RateLimiter {
  const l = changetype<RateLimiter>(at);
  l.inserts = 0;
  l.samples = 0;
  l.options().samplesPerInsert = samplesPerInsert;
  l.options().minSize = minSize;
  l.options().minDiff = minDiff;
  l.options().maxDiff = maxDiff;
  return l;
}

describe("rate limiter", () => {
  it("with minSize allows samples from that size on, and always inserts", () => {
    const l = limiter(1, 3, -f64.MAX_VALUE, f64.MAX_VALUE);
    expect<bool>(l.lets()).toBe(true);
    expect<bool>(l.canSample(1, 2)).toBe(false);
    expect<bool>(l.canSample(1, 3)).toBe(true);
    expect<u32>(l.samplesAllowed(1000, 2)).toBe(0);
    expect<u32>(l.samplesAllowed(1000, 3)).toBe(1000);
    l.inserts = u64.MAX_VALUE >> 11;
    expect<bool>(l.canInsert(1e6, 3)).toBe(true);
  });

  it("as a queue of 2 allows an insert per sample, at most 2 ahead", () => {
    const l = limiter(1, 1, 0, 2);
    expect<bool>(l.canInsert(1, 0)).toBe(true);
    l.inserts = 1;
    expect<bool>(l.canSample(1, 1)).toBe(true);
    expect<bool>(l.canSample(2, 1)).toBe(false);
    l.inserts = 2;
    expect<bool>(l.canInsert(1, 2)).toBe(false);
    expect<u32>(l.samplesAllowed(5, 2)).toBe(2);
    l.samples = 2;
    expect<bool>(l.canSample(1, 2)).toBe(false);
    expect<bool>(l.canInsert(2, 2)).toBe(true);
    expect<bool>(l.canInsert(3, 2)).toBe(false);
  });

  it("admits the first minSize items, regardless of the cursor", () => {
    const l = limiter(8, 10, -4, 4);
    for (let size: u32 = 0; size < 10; size++) {
      assert(l.canInsert(1, size), "below minSize");
      l.inserts += 1;
    }
    expect<f64>(l.cursor()).toBe(80);
    expect<bool>(l.canInsert(1, 10)).toBe(false);
    expect<bool>(l.canInsert(2, 9)).toBe(false);
    expect<u32>(l.samplesAllowed(100, 10)).toBe(84);
  });

  it("keeps a sampleToInsertRatio in any order of calls", () => {
    const dice = new Dice(4);
    const l = limiter(2.5, 4, -5, 20);
    let size: u32 = 0;
    for (let i = 0; i < 20000; i++) {
      if (dice.below(2) == 0) {
        if (!l.canInsert(1, size)) continue;
        l.inserts += 1;
        size += 1;
        assert(size <= 4 || l.cursor() <= 20, "maxDiff");
      } else if (l.canSample(1, size)) {
        l.samples += 1;
        assert(l.cursor() >= -5, "minDiff");
      }
    }
    expect<f64>(Math.abs(<f64>l.samples - 2.5 * <f64>l.inserts)).toBeLessThanOrEqual(20);
    expect<u64>(l.inserts).toBeGreaterThan(3000);
  });

  it("samplesAllowed returns as many samples as pass one by one", () => {
    const dice = new Dice(9);
    for (let i = 0; i < 3000; i++) {
      const l = limiter(0.25 * <f64>(1 + dice.below(12)), 1 + dice.below(4), <f64>dice.below(20) - 10, 1000);
      l.inserts = dice.below(20);
      l.samples = dice.below(20);
      const size = dice.below(8);
      const n = dice.below(40);
      const allowed = l.samplesAllowed(n, size);
      let passed: u32 = 0;
      while (passed < n && l.canSample(1, size)) {
        l.samples += 1;
        passed += 1;
      }
      assert(allowed == passed, "as many as pass");
    }
    expect<u32>(limiter(1, 1, 0, 1).samplesAllowed(0, 5)).toBe(0);
  });
});
