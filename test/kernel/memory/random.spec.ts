import { random_below, random_bytes, random_f64, random_init } from "../../../assembly/memory/random";

const state: usize = memory.data(32, 16);

function setState(s0: u64, s1: u64, s2: u64, s3: u64): void {
  store<u64>(state, s0);
  store<u64>(state, s1, 8);
  store<u64>(state, s2, 16);
  store<u64>(state, s3, 24);
}

/** Converts a 64-bit output to an f64. */
function fraction(output: u64): f64 {
  return <f64>(output >> 11) / 9007199254740992.0;
}

describe("random", () => {
  it("returns the first ten outputs of xoshiro256** from the state 1, 2, 3, 4", () => {
    const published: u64[] = [
      11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600, 16172922978634559625, 8476171486693032832, 10595114339597558777,
      2904607092377533576,
    ];
    setState(1, 2, 3, 4);
    for (let i = 0; i < 10; i++) expect<f64>(random_f64(state)).toBe(fraction(published[i]), `output ${i}`);
    expect<u64>(load<u64>(state)).toBe(6918773752402764499);
    expect<u64>(load<u64>(state, 8)).toBe(4636616456744993510);
    expect<u64>(load<u64>(state, 16)).toBe(602415824082698274);
    expect<u64>(load<u64>(state, 24)).toBe(4336610201886040825);
  });

  it("seeds with splitmix64: the seed 1234567 produces the published outputs", () => {
    // With these seeds, the mixed words of seed and stream combine to 1234567.
    expect<u32>(random_bytes()).toBe(32);
    for (let k = 0; k < 2; k++) {
      if (k == 0) random_init(state, 0x863d59b0, 0xe9995874, 0);
      else random_init(state, 0xc4dc35e8, 0xe0b086ca, 7);
      expect<u64>(load<u64>(state)).toBe(6457827717110365317);
      expect<u64>(load<u64>(state, 8)).toBe(3203168211198807973);
      expect<u64>(load<u64>(state, 16)).toBe(9817491932198370423);
      expect<u64>(load<u64>(state, 24)).toBe(4593380528125082431);
    }
  });

  it("produces different states for different streams and seeds", () => {
    const seen = new Set<u64>();
    for (let stream: u32 = 0; stream < 32; stream++) {
      for (let seed: u32 = 0; seed < 32; seed++) {
        random_init(state, seed, 0, stream);
        for (let i: usize = 0; i < 32; i += 8) seen.add(load<u64>(state + i));
        random_init(state, 0, seed + 1, stream);
        for (let i: usize = 0; i < 32; i += 8) seen.add(load<u64>(state + i));
      }
    }
    expect<i32>(seen.size).toBe(32 * 64 * 4);
  });

  it("stays below 1, and reaches 0", () => {
    // This s1 produces the output 2^64 - 1: it inverts the multiplications by 5 and 9 modulo 2^64.
    setState(1, rotr(<u64>0x8e38e38e38e38e39 * u64.MAX_VALUE, 7) * 0xcccccccccccccccd, 3, 4);
    expect<f64>(random_f64(state)).toBe(1 - 1.0 / 9007199254740992.0);
    setState(1, 0, 3, 4);
    expect<f64>(random_f64(state)).toBe(0);
  });

  it("returns the integers of Lemire's method", () => {
    const sixes: u32[] = [1, 4, 3, 0, 0, 4, 5, 2, 0, 5, 4, 5];
    random_init(state, 42, 0, 3);
    for (let i = 0; i < sixes.length; i++) expect<u32>(random_below(state, 6)).toBe(sixes[i]);
    // A quarter of the 2^32 words is rejected.
    const threeQuarters: u32[] = [
      999191613, 2577853199, 195093996, 2406734676, 3217850218, 11766716, 2923448653, 2457360940, 2761499163, 2311057866, 891617772, 3132212723,
    ];
    random_init(state, 42, 0, 3);
    for (let i = 0; i < threeQuarters.length; i++) expect<u32>(random_below(state, 0xc0000000)).toBe(threeQuarters[i]);
  });

  it("rejects words only if n does not divide 2^32", () => {
    // With s1 = 0, the first output is 0, the only word that must be rejected for 3.
    setState(1, 0, 0x9e3779b97f4a7c15, 4);
    random_f64(state);
    const afterOne = load<u64>(state);
    random_f64(state);
    const afterTwo = load<u64>(state);
    setState(1, 0, 0x9e3779b97f4a7c15, 4);
    random_below(state, 3);
    expect<u64>(load<u64>(state)).toBe(afterTwo);
    setState(1, 0, 0x9e3779b97f4a7c15, 4);
    expect<u32>(random_below(state, 4)).toBe(0);
    expect<u64>(load<u64>(state)).toBe(afterOne);
  });

  it("stays in bounds for the smallest and the largest n", () => {
    random_init(state, 7, 7, 7);
    for (let i = 0; i < 1000; i++) {
      assert(random_below(state, 1) == 0, "below 1 there is only 0");
      assert(random_below(state, 2) < 2, "below 2");
      assert(random_below(state, 0x80000001) < 0x80000001, "below 2^31 + 1");
      assert(random_below(state, u32.MAX_VALUE) < u32.MAX_VALUE, "below 2^32 - 1");
    }
    expect<u32>(random_below(state, 1)).toBe(0);
  });

  it("draws ten numbers equally often (chi-square, 9 degrees, p > 0.001)", () => {
    const counts = new StaticArray<u32>(10);
    random_init(state, 2026, 0, 0);
    for (let i = 0; i < 100000; i++) counts[random_below(state, 10)] += 1;
    let chi: f64 = 0;
    for (let k = 0; k < 10; k++) chi += (<f64>counts[k] - 10000) ** 2 / 10000;
    expect<f64>(chi).toBeLessThan(27.88);
    expect<f64>(chi).toBeGreaterThan(1.15);
  });
});
