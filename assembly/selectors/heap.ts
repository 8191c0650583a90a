/**
 * The item of the least (minHeap) or greatest (maxHeap) priority; among equals the least recently inserted or updated.
 * A total order, so that the layout of the heap is derived and never seen.
 *
 * HEAP, 32 bytes:
 *    0 │ entries u32    │ positions u32 │  u32 × slots, 4-ary; u32 × (slots + 1)
 *    8 │ items u32      │ stamps u32    │  ITEM, f64 × (slots + 1), the table's
 *   16 │ count u32      │ greatest u32  │  1: maxHeap
 */
import { Items } from "./items";

@unmanaged
export class Heap {
  entries: u32;
  positions: u32;
  items: u32;
  stamps: u32;
  count: u32;
  greatest: u32;
  unused: u64;

  @inline
  entry(i: u32): usize {
    return <usize>this.entries + ((<usize>i) << 2);
  }

  @inline
  slot(i: u32): u32 {
    return load<u32>(this.entry(i));
  }

  @inline
  position(slot: u32): usize {
    return <usize>this.positions + ((<usize>slot) << 2);
  }

  /** The one to pick; 0 = empty. */
  @inline
  top(): u32 {
    return this.count == 0 ? 0 : this.slot(0);
  }

  /** O(log n); priority and stamp of the slot are written before. */
  insert(slot: u32): void {
    const i = this.count;
    this.count = i + 1;
    this.put(i, slot);
    this.rise(i);
  }

  /** O(log n), after priority or stamp of the slot changed. */
  update(slot: u32): void {
    const i = load<u32>(this.position(slot));
    if (!this.rise(i)) this.sink(i);
  }

  /** O(log n), while priority and stamp are those it has stood with. */
  remove(slot: u32): void {
    const i = load<u32>(this.position(slot));
    const last = this.count - 1;
    this.count = last;
    if (i == last) return;
    const moved = this.slot(last);
    this.put(i, moved);
    this.update(moved);
  }

  /** 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    if (this.count != count) return 1;
    for (let i: u32 = 0; i < count; i++) {
      const slot = this.slot(i);
      if (slot == 0 || slot > slots) return 2;
      if (load<u32>(this.position(slot)) != i) return 3;
      if (i > 0 && !this.before(this.slot((i - 1) >> 2), slot)) return 4;
    }
    return 0;
  }

  /** Whether slot a is picked before slot b. */
  private before(a: u32, b: u32): bool {
    const p = Items.priority(<usize>this.items, a);
    const q = Items.priority(<usize>this.items, b);
    if (p != q) return this.greatest != 0 ? p > q : p < q;
    return load<f64>(<usize>this.stamps + ((<usize>a) << 3)) < load<f64>(<usize>this.stamps + ((<usize>b) << 3));
  }

  @inline
  private put(i: u32, slot: u32): void {
    store<u32>(this.entry(i), slot);
    store<u32>(this.position(slot), i);
  }

  /** Whether it moved. */
  private rise(i: u32): bool {
    const from = i;
    const slot = this.slot(i);
    while (i > 0) {
      const parent = (i - 1) >> 2;
      const above = this.slot(parent);
      if (!this.before(slot, above)) break;
      this.put(i, above);
      i = parent;
    }
    if (i == from) return false;
    this.put(i, slot);
    return true;
  }

  private sink(i: u32): void {
    const slot = this.slot(i);
    for (;;) {
      const first = (i << 2) + 1;
      if (first >= this.count) break;
      const end = min(first + 4, this.count);
      let best = first;
      for (let child = first + 1; child < end; child++) {
        if (this.before(this.slot(child), this.slot(best))) best = child;
      }
      const below = this.slot(best);
      if (!this.before(below, slot)) break;
      this.put(i, below);
      i = best;
    }
    this.put(i, slot);
  }
}
if (offsetof<Heap>() != 32) ERROR("HEAP is 32 bytes");

export function heapBytes(slots: u32): u32 {
  return 32 + (slots << 2) + ((slots + 1) << 2);
}

export function heapInit(h: Heap, slots: u32, items: u32, stamps: u32, greatest: bool): void {
  h.entries = <u32>changetype<usize>(h) + 32;
  h.positions = h.entries + (slots << 2);
  h.items = items;
  h.stamps = stamps;
  h.greatest = greatest ? 1 : 0;
  h.count = 0;
}
