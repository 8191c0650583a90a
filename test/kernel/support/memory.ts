/**
 * Provides memory for specs. The build of as-pect puts static data and its runtime, which may grow, above memoryBase (as-pect.asconfig.json). The header and
 * the arena of the core use the memory below, so that the two allocators never collide.
 */
import { arena_alloc, arena_init } from "../../../assembly/memory/arena";
import { GRANULE, GRANULE_BITS, header } from "../../../assembly/memory/layout";

/** The memoryBase, in granules. */
const END: u32 = (16 << 20) >> GRANULE_BITS;

/** Opens a new arena of at most `bytes`, from the second granule on. */
export function openArena(bytes: u32): void {
  // Clears the memory that the last arena allocated, because untouched memory is zero.
  memory.fill(GRANULE, 0, ((<usize>max(min(header().top, END), 1)) << GRANULE_BITS) - GRANULE);
  const limit: u32 = 1 + (bytes >> GRANULE_BITS);
  assert(limit <= END, "the arena would reach into as-pect's memory");
  arena_init(limit, 0);
  header().top = 1;
}

/** Allocates zeroed memory from the arena, which must have enough memory left. */
export function zeroed(bytes: u32): usize {
  const at = <usize>arena_alloc(bytes);
  assert(at != 0, "the arena is full");
  return at;
}

/** Returns the number of bytes that are still available. */
export function arena_left(): f64 {
  const h = header();
  return <f64>(h.limit - h.top + h.free) * <f64>GRANULE;
}

export function error_code(): i32 {
  return header().errorCode;
}

/** Returns the index of the argument; for batches, the index of the element. */
export function error_argument(): i32 {
  return header().errorArgument;
}

export function error_value(): f64 {
  return header().errorValue;
}
