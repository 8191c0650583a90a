/**
 * Implements a growing list of structs of one size. The entries may move until the list is complete. The list is stored in zeroed memory of the root (root.ts).
 *
 * LIST, 16 bytes: │ at u32 │ count u32 │ capacity u32 │ each u32 │
 */
import { arena_alloc, arena_free } from "../memory/arena";

const FIRST: u32 = 4096;

@unmanaged
export class GrowingArray {
  at: u32;
  count: u32;
  capacity: u32;
  each: u32;

  /** Returns the i-th entry. */
  @inline
  get(i: u32): usize {
    return <usize>this.at + <usize>(i * this.each);
  }

  /** Adds a zeroed entry; returns 0 if there is no memory. */
  push(each: u32): usize {
    this.each = each;
    if (this.count == this.capacity) {
      const capacity = this.capacity == 0 ? max(FIRST / each, 1) : this.capacity << 1;
      if (<u64>capacity * <u64>each > <u64>u32.MAX_VALUE) return 0;
      const at = arena_alloc(capacity * each);
      if (at == 0) return 0;
      memory.copy(at, this.at, <usize>(this.count * each));
      arena_free(this.at, this.capacity * each);
      this.at = at;
      this.capacity = capacity;
    }
    this.count += 1;
    return this.get(this.count - 1);
  }

  /** Removes the i-th entry; later entries move up. */
  remove(i: u32): void {
    this.count -= 1;
    memory.copy(this.get(i), this.get(i + 1), <usize>((this.count - i) * this.each));
  }
}
export const GROWING_ARRAY_BYTES: usize = 16;
if (offsetof<GrowingArray>() != GROWING_ARRAY_BYTES) ERROR("LIST is 16 bytes");
