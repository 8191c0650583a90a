/**
 * Memory for specs. as-pect's build begins at memoryBase (as-pect.asconfig.json): static data, then its runtime, which may grow. Header and arena of the core have the memory
 * below, so that the two allocators never meet.
 */
import { arena_alloc, arena_init } from "../../../assembly/memory/arena";
import { GRANULE, GRANULE_BITS, header } from "../../../assembly/memory/layout";

/** memoryBase, in granules. */
const END: u32 = (16 << 20) >> GRANULE_BITS;

/** A fresh arena of at most `bytes` from the second granule on. */
export function openArena(bytes: u32): void {
  // What the last arena gave out is to be zeroed, as memory that was never touched is.
  memory.fill(GRANULE, 0, ((<usize>max(min(header().top, END), 1)) << GRANULE_BITS) - GRANULE);
  const limit: u32 = 1 + (bytes >> GRANULE_BITS);
  assert(limit <= END, "the arena would reach into as-pect's memory");
  arena_init(limit, 0);
  header().top = 1;
}

/** Zeroed memory from the arena, which must have it. */
export function zeroed(bytes: u32): usize {
  const at = <usize>arena_alloc(bytes);
  assert(at != 0, "the arena is full");
  return at;
}

/** Bytes that may still be taken. */
export function arena_left(): f64 {
  const h = header();
  return <f64>(h.limit - h.top + h.free) * <f64>GRANULE;
}

export function error_code(): i32 {
  return header().errorCode;
}

/** Which argument of the call, counted from 0; for batches, which element. */
export function error_argument(): i32 {
  return header().errorArgument;
}

export function error_value(): f64 {
  return header().errorValue;
}
