/**
 * Picks the item with the least (minHeap) or greatest (maxHeap) priority. Among items of equal priority, picks the least recently inserted or updated one. The
 * order is total, so the layout of the heap is derived and cannot be observed.
 *
 * HEAP, 32 bytes, then the arrays:
 *    0 │ entries u32    │ positions u32 │  ENTRY × slots; u32 × (slots + 1)
 *    8 │ items u32      │ stamps u32    │  ITEM, f64 × (slots + 1), the table's
 *   16 │ count u32      │ greatest u32  │  1: maxHeap
 *   24 │ mask u64                       │  the bits of an entry that hold its slot
 *
 * ENTRY, 8 bytes: the slot in as many low bits as the highest slot needs; above them, the highest bits of the priority except its sign, in a maxHeap inverted:
 * the least entry is first. If all of these bits are equal, the items decide. Comparing items costs a cache miss. Comparing entries rarely does, because all
 * children of a node are in two adjacent cache lines. With 16 children, a heap of a million items has five levels below the root.
 */
import { Items } from "./items";

/** The base-2 logarithm of the number of children of a node. */
const BITS: u32 = 4;
/** The number of children of a node. */
const WIDTH: u32 = 1 << BITS;
/** The number of bytes of the children of a node. */
const FAMILY: u32 = 8 << BITS;
if (FAMILY != 128) ERROR("sink compares two halves of eight children");
/** The number of bytes of eight entries. */
const HALF: usize = 64;

@unmanaged
export class Heap {
  entries: u32;
  positions: u32;
  items: u32;
  stamps: u32;
  count: u32;
  greatest: u32;
  mask: u64;

  @inline
  private static lesser(a: u64, b: u64): u64 {
    return select(a, b, a < b);
  }

  @inline
  entry(i: u32): usize {
    return <usize>this.entries + ((<usize>i) << 3);
  }

  @inline
  slot(i: u32): u32 {
    return this.slotOf(this.at(i));
  }

  @inline
  private slotOf(entry: u64): u32 {
    return <u32>(entry & this.mask);
  }

  @inline
  private at(i: u32): u64 {
    return load<u64>(this.entry(i));
  }

  @inline
  position(slot: u32): usize {
    return <usize>this.positions + ((<usize>slot) << 2);
  }

  /** Returns the entry of a slot, computed from its priority, which is not negative. */
  @inline
  entryOf(slot: u32): u64 {
    const bits = reinterpret<u64>(Items.priority(<usize>this.items, slot));
    return (((this.greatest != 0 ? ~bits : bits) << 1) & ~this.mask) | <u64>slot;
  }

  /** Returns the slot that is picked next; 0 = empty. */
  @inline
  top(): u32 {
    return this.count == 0 ? 0 : this.slot(0);
  }

  /** Inserts a slot. Call this method after writing priority and stamp of the slot. O(log n) */
  insert(slot: u32): void {
    const i = this.count;
    this.count = i + 1;
    this.rise(i, this.entryOf(slot));
  }

  /** Inserts a slot like `insert`, and removes the slot that is then picked next, which may be the inserted one. Returns the removed slot. O(log n) */
  exchange(slot: u32): u32 {
    const entry = this.entryOf(slot);
    if (this.count == 0 || this.before(entry, this.at(0))) return slot;
    const top = this.slot(0);
    this.sink(0, entry);
    return top;
  }

  /** Updates a slot. Call this method after priority or stamp of the slot changed. O(log n) */
  update(slot: u32): void {
    this.settle(load<u32>(this.position(slot)), this.entryOf(slot));
  }

  /** Removes a slot. O(log n) */
  remove(slot: u32): void {
    const i = load<u32>(this.position(slot));
    const last = this.count - 1;
    this.count = last;
    if (i != last) this.settle(i, this.at(last));
  }

  /** Returns 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    if (this.count != count) return 1;
    for (let i: u32 = 0; i < count; i++) {
      const slot = this.slot(i);
      if (slot == 0 || slot > slots) return 2;
      if (load<u32>(this.position(slot)) != i) return 3;
      if (this.at(i) != this.entryOf(slot)) return 4;
      if (i > 0 && !this.before(this.at((i - 1) >> BITS), this.at(i))) return 5;
    }
    return 0;
  }

  /** Whether the slot of entry a is picked before that of entry b. */
  @inline
  private before(a: u64, b: u64): bool {
    return (a ^ b) <= this.mask ? this.decide(this.slotOf(a), this.slotOf(b)) : a < b;
  }

  /** Like `before`, for slots whose entries do not differ above the slot. */
  private decide(a: u32, b: u32): bool {
    const p = Items.priority(<usize>this.items, a);
    const q = Items.priority(<usize>this.items, b);
    if (p != q) return this.greatest != 0 ? p > q : p < q;
    return load<f64>(<usize>this.stamps + ((<usize>a) << 3)) < load<f64>(<usize>this.stamps + ((<usize>b) << 3));
  }

  @inline
  private put(i: u32, entry: u64): void {
    store<u64>(this.entry(i), entry);
    store<u32>(this.position(this.slotOf(entry)), i);
  }

  /** Moves an entry up or down from the i-th place, whose content may be overwritten, to its final place. */
  private settle(i: u32, entry: u64): void {
    if (i > 0 && this.before(entry, this.at((i - 1) >> BITS))) this.rise(i, entry);
    else this.sink(i, entry);
  }

  private rise(i: u32, entry: u64): void {
    while (i > 0) {
      const parent = (i - 1) >> BITS;
      const above = this.at(parent);
      if (!this.before(entry, above)) break;
      this.put(i, above);
      i = parent;
    }
    this.put(i, entry);
  }

  private sink(i: u32, entry: u64): void {
    const count = this.count;
    for (;;) {
      const first = (i << BITS) + 1;
      if (first >= count) break;
      let best: u32;
      let least: u64;
      if (first + WIDTH <= count) {
        // The lesser half is found first, because the registers do not hold all children. There is no branch, because the branch predictor cannot guess which
        // child is least.
        const at = this.entry(first);
        const low = Heap.leastOf(at);
        const high = Heap.leastOf(at + HALF);
        const half = u32(high < low);
        least = Heap.lesser(low, high);
        const from = at + <usize>half * HALF;
        const e0 = load<u64>(from);
        const e1 = load<u64>(from, 8);
        const e2 = load<u64>(from, 16);
        const e3 = load<u64>(from, 24);
        const e4 = load<u64>(from, 32);
        const e5 = load<u64>(from, 40);
        const e6 = load<u64>(from, 48);
        const e7 = load<u64>(from, 56);
        best =
          first +
          (half << 3) +
          u32(e1 == least) +
          2 * u32(e2 == least) +
          3 * u32(e3 == least) +
          4 * u32(e4 == least) +
          5 * u32(e5 == least) +
          6 * u32(e6 == least) +
          7 * u32(e7 == least);
        // If several entries differ from the least one only in the slot, which is rare, the items decide.
        const mask = this.mask;
        const near = u32((e0 ^ least) <= mask) + u32((e1 ^ least) <= mask) + u32((e2 ^ least) <= mask) + u32((e3 ^ least) <= mask);
        const far = u32((e4 ^ least) <= mask) + u32((e5 ^ least) <= mask) + u32((e6 ^ least) <= mask) + u32((e7 ^ least) <= mask);
        if (near + far + u32((low ^ high) <= mask) != 1) {
          best = this.bestOf(first, first + WIDTH);
          least = this.at(best);
        }
      } else {
        best = this.bestOf(first, count);
        least = this.at(best);
      }
      if (!this.before(least, entry)) break;
      this.put(i, least);
      i = best;
    }
    this.put(i, entry);
  }

  /** Returns the least of eight entries. */
  @inline
  private static leastOf(at: usize): u64 {
    return Heap.lesser(
      Heap.lesser(Heap.lesser(load<u64>(at), load<u64>(at, 8)), Heap.lesser(load<u64>(at, 16), load<u64>(at, 24))),
      Heap.lesser(Heap.lesser(load<u64>(at, 32), load<u64>(at, 40)), Heap.lesser(load<u64>(at, 48), load<u64>(at, 56))),
    );
  }

  /** Returns the index, from `first` to `end` - 1, of the entry that is picked before the others. */
  private bestOf(first: u32, end: u32): u32 {
    let best = first;
    for (let child = first + 1; child < end; child++) if (this.before(this.at(child), this.at(best))) best = child;
    return best;
  }
}
if (offsetof<Heap>() != 32) ERROR("HEAP is 32 bytes");

export function heapBytes(slots: u32): u32 {
  return 32 + ((slots + 1) << 2) + FAMILY + (slots << 3);
}

export function heapInit(h: Heap, slots: u32, items: u32, stamps: u32, greatest: bool): void {
  h.positions = <u32>changetype<usize>(h) + 32;
  // The children of each node begin at a multiple of FAMILY.
  h.entries = ((h.positions + ((slots + 1) << 2) + 8 + FAMILY - 1) & ~(FAMILY - 1)) - 8;
  h.items = items;
  h.stamps = stamps;
  h.greatest = greatest ? 1 : 0;
  h.mask = ((<u64>1) << (64 - clz<u64>(slots))) - 1;
  h.count = 0;
}
