/**
 * Implements the arena, which allocates zeroed runs of consecutive granules of 4 KiB. Its state is in the header, so a copy of the memory is a copy of the
 * arena.
 *
 * A free run begins with
 *   0 │ next u32 │ granules u32 │   next: granule number of the next run in its class, 0 = none
 *
 * A run has as many granules as the request needs, and is not rounded up to a power of two: a pool page of 44 KiB takes 44 KiB.
 */
import { E_OUT_OF_MEMORY, fail } from "./error";
import { ABI_VERSION, GRANULE, GRANULE_BITS, header, MAGIC, RUN_CLASSES, RUNS_AT } from "./layout";

/** The maximum number of free runs that are tried in a size class before the next larger class is searched. */
const LOOKS: u32 = 8;
/** The base-2 logarithm of the number of granules per wasm page: a page of 64 KiB has 16 granules. */
const WASM_PAGE_BITS: u32 = 4;
/** The minimum number of wasm pages (1 MiB) by which memory grows, if the limit and the host allow. Each growth costs 150 µs, whatever its size. */
const GROW_PAGES: u32 = 16;

/**
 * Initializes the arena. `limit` is in granules, and includes the header and static data. `tracking`: 1 to note changes for a journal, for which pools and
 * tables reserve room, otherwise 0.
 */
export function arena_init(limit: u32, tracking: u32): void {
  const h = header();
  h.magic = MAGIC;
  h.abiVersion = ABI_VERSION;
  h.top = (<u32>__heap_base + GRANULE - 1) >> GRANULE_BITS;
  h.limit = limit;
  h.free = 0;
  h.tracking = tracking;
  memory.fill(RUNS_AT, 0, (<usize>RUN_CLASSES) << 2);
}

/** Allocates `bytes`, rounded up to granules and zeroed. Returns the address, or 0 with OUT_OF_MEMORY if the bytes do not fit. */
export function arena_alloc(bytes: u32): u32 {
  const n = granules(bytes);
  const reused = takeRun(n);
  if (reused != 0) {
    memory.fill((<usize>reused) << GRANULE_BITS, 0, (<usize>n) << GRANULE_BITS);
    header().free -= n;
    return reused << GRANULE_BITS;
  }
  const h = header();
  const at = h.top;
  // Both numbers are at most 2^20, so the sum does not wrap around.
  if (at + n > h.limit || !reach(at + n)) {
    fail(E_OUT_OF_MEMORY, 0, <f64>bytes);
    return 0;
  }
  h.top = at + n;
  return at << GRANULE_BITS;
}

/** Frees the run at `ptr`, or does nothing if `ptr` is 0. `bytes` is the size passed to `arena_alloc`. */
export function arena_free(ptr: u32, bytes: u32): void {
  if (ptr == 0) return;
  const n = granules(bytes);
  if (!ASC_NO_ASSERT) assert(ptr % GRANULE == 0 && (ptr >> GRANULE_BITS) + n <= header().top, "frees only runs that were allocated");
  header().free += n;
  putRun(ptr >> GRANULE_BITS, n);
}

/** Returns the bytes in use, including header and static data. */
export function arena_used(): f64 {
  const h = header();
  return <f64>(h.top - h.free) * <f64>GRANULE;
}

/** Checks the arena. Returns 0, or the number of the broken invariant. */
export function arena_check(): i32 {
  const h = header();
  if (h.magic != MAGIC || h.abiVersion != ABI_VERSION) return 1;
  if (h.top > h.limit || (<u64>h.top) << GRANULE_BITS > (<u64>memory.size()) << 16) return 2;
  let free: u32 = 0;
  for (let c: u32 = 0; c < RUN_CLASSES; c++) {
    for (let run = runs(c); run != 0; run = runNext(run)) {
      const n = runGranules(run);
      if (classOf(n) != c) return 3;
      if (run + n > h.top) return 4;
      free += n;
      if (free > h.free) return 5;
    }
  }
  return free == h.free ? 0 : 6;
}

function granules(bytes: u32): u32 {
  return bytes == 0 ? 1 : ((bytes - 1) >> GRANULE_BITS) + 1;
}

/** Returns the size class of a run of n granules: floor(log2(n)). */
function classOf(n: u32): u32 {
  return 31 - clz(n);
}

function runs(c: u32): u32 {
  return load<u32>(RUNS_AT + ((<usize>c) << 2));
}

function setRuns(c: u32, run: u32): void {
  store<u32>(RUNS_AT + ((<usize>c) << 2), run);
}

function runNext(run: u32): u32 {
  return load<u32>((<usize>run) << GRANULE_BITS);
}

function runGranules(run: u32): u32 {
  return load<u32>((<usize>run) << GRANULE_BITS, 4);
}

function putRun(run: u32, n: u32): void {
  const c = classOf(n);
  store<u32>((<usize>run) << GRANULE_BITS, runs(c));
  store<u32>((<usize>run) << GRANULE_BITS, n, 4);
  setRuns(c, run);
}

/** Returns a free run of n granules and puts the rest of a longer run back; 0 = none. */
function takeRun(n: u32): u32 {
  for (let c = classOf(n); c < RUN_CLASSES; c++) {
    let before: u32 = 0;
    let run = runs(c);
    for (let look: u32 = 0; run != 0 && look < LOOKS; look++) {
      const have = runGranules(run);
      if (have >= n) {
        if (before == 0) setRuns(c, runNext(run));
        else store<u32>((<usize>before) << GRANULE_BITS, runNext(run));
        if (have > n) putRun(run + n, have - n);
        return run;
      }
      before = run;
      run = runNext(run);
    }
  }
  return 0;
}

/**
 * Grows the memory to at least `end` granules. Tries to grow by an eighth or 1 MiB, whichever is larger, as far as the limit allows. If the host refuses, grows
 * by the required amount only. Returns false if the memory cannot grow.
 */
function reach(end: u32): bool {
  const have = <u32>memory.size();
  const need = (end + 15) >> WASM_PAGE_BITS;
  if (need <= have) return true;
  const want = min(max(need, have + max(GROW_PAGES, have >> 3)), (header().limit + 15) >> WASM_PAGE_BITS);
  return memory.grow(want - have) >= 0 || memory.grow(need - have) >= 0;
}
