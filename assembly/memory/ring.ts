/**
 * Implements a ring of u32 with a fixed capacity, which stores the window of a stream or the dense order of a uniform selector.
 *
 * RING, 16 bytes: │ entries u32 │ capacity u32 │ head u32 │ count u32 │   entries: address of u32 × capacity
 */
@unmanaged
export class Ring {
  entries: u32;
  capacity: u32;
  head: u32;
  count: u32;

  /** Returns the index in `entries` of the i-th oldest entry. */
  @inline
  index(i: u32): u32 {
    const at = this.head + i;
    return at >= this.capacity ? at - this.capacity : at;
  }

  /** Replaces each number i (u32) from `at` to `end` with the index of the i-th oldest entry, plus `more`. */
  @inline
  indices(at: usize, end: usize, more: u32): void {
    const head = this.head;
    const capacity = this.capacity;
    for (; at < end; at += 4) {
      const index = head + load<u32>(at);
      store<u32>(at, (index >= capacity ? index - capacity : index) + more);
    }
  }

  @inline
  get(i: u32): u32 {
    return load<u32>(<usize>this.entries + ((<usize>this.index(i)) << 2));
  }

  /** Adds an entry as the youngest, and returns its index. */
  @inline
  push(value: u32): u32 {
    if (!ASC_NO_ASSERT) assert(this.count < this.capacity, "a ring holds no more than its capacity");
    const at = this.index(this.count);
    store<u32>(<usize>this.entries + ((<usize>at) << 2), value);
    this.count += 1;
    return at;
  }

  /** Adds an entry to a full ring. Removes the oldest entry and returns it. */
  @inline
  replace(value: u32): u32 {
    const at = <usize>this.entries + ((<usize>this.head) << 2);
    const oldest = load<u32>(at);
    store<u32>(at, value);
    this.rotate(1);
    return oldest;
  }

  /** Makes the n oldest entries of a full ring the youngest; n <= capacity. */
  @inline
  rotate(n: u32): void {
    this.head = this.index(n);
  }
  @inline
  shift(): u32 {
    if (!ASC_NO_ASSERT) assert(this.count != 0, "an empty ring has no oldest");
    const value = load<u32>(<usize>this.entries + ((<usize>this.head) << 2));
    this.rotate(1);
    this.count -= 1;
    return value;
  }
}
if (offsetof<Ring>() != 16) ERROR("RING is 16 bytes");
