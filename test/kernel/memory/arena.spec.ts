import { arena_alloc, arena_check, arena_free, arena_init, arena_used } from "../../../assembly/memory/arena";
import { E_OUT_OF_MEMORY } from "../../../assembly/memory/error";
import { GRANULE, header } from "../../../assembly/memory/layout";
import { Dice } from "../support/dice";
import { arena_left, error_code, error_value, openArena, zeroed } from "../support/memory";

const MIB: u32 = 1 << 20;

function isZero(at: usize, bytes: u32): bool {
  for (let i: usize = 0; i < <usize>bytes; i += 8) if (load<u64>(at + i) != 0) return false;
  return true;
}

describe("arena", () => {
  beforeEach(() => {
    openArena(MIB);
  });

  it("starts after the static data, on a granule", () => {
    arena_init(0xfffff, 0);
    const first = arena_alloc(1);
    expect<u32>(first % GRANULE).toBe(0);
    expect<u32>(first).toBeGreaterThanOrEqual(<u32>__heap_base);
    expect<u32>(first - <u32>__heap_base).toBeLessThan(GRANULE);
    expect<f64>(arena_used()).toBe(<f64>(first + GRANULE));
    openArena(MIB);
    expect<usize>(zeroed(1)).toBe(GRANULE);
  });

  it("allocates whole granules, at least one", () => {
    const left = arena_left();
    expect<f64>(left).toBe(<f64>MIB);
    arena_alloc(0);
    expect<f64>(left - arena_left()).toBe(4096);
    arena_alloc(4096);
    expect<f64>(left - arena_left()).toBe(2 * 4096);
    arena_alloc(4097);
    expect<f64>(left - arena_left()).toBe(4 * 4096);
    expect<f64>(arena_used() + arena_left()).toBe(GRANULE + MIB);
    expect<i32>(arena_check()).toBe(0);
  });

  it("rejects one byte more than the limit, and changes nothing", () => {
    expect<u32>(arena_alloc(MIB + 1)).toBe(0);
    expect<i32>(error_code()).toBe(E_OUT_OF_MEMORY);
    expect<f64>(error_value()).toBe(MIB + 1);
    expect<u32>(arena_alloc(u32.MAX_VALUE)).toBe(0);
    expect<f64>(arena_left()).toBe(MIB);
    expect<usize>(zeroed(MIB)).toBe(GRANULE);
    expect<f64>(arena_left()).toBe(0);
    expect<u32>(arena_alloc(1)).toBe(0);
    expect<i32>(arena_check()).toBe(0);
  });

  it("grows the memory as far as a run reaches", () => {
    // The arena starts after as-pect's data, so it overwrites nothing.
    arena_init(0xfffff, 0);
    const pages = <u32>memory.size();
    const first = <u32>__heap_base;
    const run = arena_alloc((pages << 16) - first + 5 * GRANULE);
    expect<u32>(memory.size()).toBeGreaterThan(pages);
    expect<u32>(run).toBeGreaterThanOrEqual(first);
    expect<i32>(arena_check()).toBe(0);
    header().top += 16 * <u32>memory.size();
    expect<i32>(arena_check()).toBe(2, "a top that the memory does not reach");
  });

  it("reuses a freed run, zeroed", () => {
    const run = zeroed(3 * GRANULE);
    memory.fill(run, 255, 3 * GRANULE);
    arena_free(<u32>run, 3 * GRANULE);
    expect<f64>(arena_left()).toBe(MIB);
    expect<i32>(arena_check()).toBe(0);
    expect<usize>(zeroed(3 * GRANULE)).toBe(run);
    expect<bool>(isZero(run, 3 * GRANULE)).toBe(true);
  });

  it("splits a longer run and keeps the rest", () => {
    const run = zeroed(7 * GRANULE);
    arena_free(<u32>run, 7 * GRANULE);
    expect<usize>(zeroed(2 * GRANULE)).toBe(run);
    expect<i32>(arena_check()).toBe(0);
    expect<usize>(zeroed(5 * GRANULE)).toBe(run + 2 * GRANULE);
    expect<f64>(arena_left()).toBe(MIB - 7 * GRANULE);
  });

  it("ignores a free of handle 0", () => {
    arena_free(0, 4096);
    expect<f64>(arena_left()).toBe(MIB);
    expect<i32>(arena_check()).toBe(0);
  });

  it("arena_check detects a write to a free run and a wrong header", () => {
    const run = zeroed(4 * GRANULE);
    arena_free(<u32>run, 4 * GRANULE);
    store<u32>(run, 2, 4);
    expect<i32>(arena_check()).toBe(3);
    store<u32>(run, 5, 4);
    expect<i32>(arena_check()).toBe(4, "reaches past the top");
    store<u32>(run, 4, 4);
    header().free += 1;
    expect<i32>(arena_check()).toBe(6);
    header().free -= 1;
    header().magic += 1;
    expect<i32>(arena_check()).toBe(1);
    header().magic -= 1;
    expect<i32>(arena_check()).toBe(0);
  });

  it("never allocates a granule twice, in thousands of calls", () => {
    const dice = new Dice(3);
    const runs: u32[] = [];
    const sizes: u32[] = [];
    let held: u32 = 0;
    let taken = 0;
    for (let i = 0; i < 4000; i++) {
      if (runs.length > 0 && dice.below(5) < 2) {
        const k = dice.below(runs.length);
        const run = runs[k];
        // The first and the last word of each run are its address, which reveals overlapping runs.
        assert(load<u32>(run) == run && load<u32>(run + sizes[k] - 4) == run, "a run was written over");
        arena_free(run, sizes[k]);
        held -= (sizes[k] + GRANULE - 1) / GRANULE;
        runs[k] = runs[runs.length - 1];
        sizes[k] = sizes[sizes.length - 1];
        runs.pop();
        sizes.pop();
      } else {
        const bytes = (1 + dice.below(GRANULE)) * 4;
        const run = arena_alloc(bytes);
        if (run == 0) continue;
        assert(load<u32>(run) == 0 && load<u32>(run + bytes - 4) == 0, "a run is zeroed");
        store<u32>(run, run);
        store<u32>(run + bytes - 4, run);
        runs.push(run);
        taken += 1;
        sizes.push(bytes);
        held += (bytes + GRANULE - 1) / GRANULE;
      }
      assert(arena_left() == <f64>(MIB / GRANULE - held) * GRANULE, "what is left");
      assert(arena_check() == 0, "arena_check");
    }
    expect<i32>(arena_check()).toBe(0);
    expect<i32>(taken).toBeGreaterThan(1500);
  });
});
