/**
 * Draws every item with the same probability, from a dense ring of slots.
 *
 * UNIFORM, 32 bytes, then the entries and the positions:
 *    0 │ positions u32 │ disorder u32 │  address of u32 × (slots + 1): each slot's index in the ring's entries
 *    8 │ strays u32    │ written u32  │  0: each slot is at its own place · 0: entries and positions are zeros
 *   16 │ RING                         │  slots, oldest first as long as only the oldest slots were removed
 *
 * Slot s has its own place at index s - 1, which it takes as long as only the oldest slots are removed. An entry or a position is stored as its difference
 * (XOR) from that default. So the memory of a ring in which every slot is at its own place is never touched, and the operating system need not provide it. A
 * draw does not have to read it either, which saves a cache miss.
 *
 * A removal from the middle moves the oldest entry into the hole. `disorder` is the greatest distance from the head at which such an entry can be: the first k
 * entries are the k oldest items whenever k >= disorder.
 */
import { fillBelow, random_below, random_f64 } from "../memory/random";
import { Ring } from "../memory/ring";

const RING_AT: usize = 16;
const UNIFORM_BYTES: u32 = 32;

@unmanaged
export class Uniform {
  positions: u32;
  disorder: u32;
  strays: u32;
  written: u32;

  @inline
  ring(): Ring {
    return changetype<Ring>(changetype<usize>(this) + RING_AT);
  }

  /** Returns the index at which a slot is stored. */
  @inline
  position(slot: u32): u32 {
    return this.written == 0 ? slot - 1 : load<u32>(this.positionAt(slot)) ^ (slot - 1);
  }

  /** Reads the memory that the removal of a slot needs, if that memory is in use, so that it is cached by then. The result has no meaning. */
  @inline
  near(slot: u32): u32 {
    if (this.written == 0) return 0;
    return load<u32>(this.entryAt(this.position(slot))) ^ load<u32>(this.positionAt(this.entry(this.ring().head)));
  }

  @inline
  setPosition(slot: u32, index: u32): void {
    this.write(this.positionAt(slot), index ^ (slot - 1));
  }

  /** Inserts a slot. O(1) */
  @inline
  insert(slot: u32): void {
    const ring = this.ring();
    if (ring.count == 0) this.strays = 0;
    const index = ring.index(ring.count);
    ring.count += 1;
    this.place(slot, index);
  }

  /** Removes a slot. O(1) */
  @inline
  remove(slot: u32): void {
    const ring = this.ring();
    const hole = this.position(slot);
    const oldest = this.entry(ring.head);
    ring.rotate(1);
    ring.count -= 1;
    if (this.disorder != 0) this.disorder -= 1;
    if (oldest != slot) this.fill(hole, oldest);
  }

  /** Whether rotating a full ring is enough to remove its oldest slot, `slot`, and insert it again, without moving an entry. */
  @inline
  evictsNext(slot: u32): bool {
    const ring = this.ring();
    return ring.count == ring.capacity && this.disorder == 0 && this.at(0) == slot;
  }

  /** Draws one of the first `among` slots of the ring; 0 < among <= count. O(1) */
  @inline
  draw(random: usize, among: u32): u32 {
    return this.at(random_below(random, among));
  }

  /** Draws n of the `among` items after the `first` oldest, with replacement; one from each n-th of these items if `stratified`. O(n) */
  drawMany(random: usize, first: u32, among: u32, n: u32, stratified: bool, out: usize): void {
    if (!stratified) fillBelow(random, among, n, out);
    else for (let i: u32 = 0; i < n; i++) store<u32>(out + ((<usize>i) << 2), min(<u32>(((<f64>i + random_f64(random)) / <f64>n) * <f64>among), among - 1));
    const end = out + ((<usize>n) << 2);
    if (first != 0) for (let at = out; at < end; at += 4) store<u32>(at, load<u32>(at) + first);
    if (this.strays == 0) this.ring().indices(out, end, 1);
    // Looking the slots up in a separate loop lets the cache misses overlap.
    else for (let at = out; at < end; at += 4) store<u32>(at, this.entry(this.ring().index(load<u32>(at))));
  }

  /**
   * Draws n distinct items of the `among` items after the `first` oldest, in random order: a Fisher–Yates shuffle of the ring itself, which is undone
   * afterwards. O(n)
   */
  drawDistinct(random: usize, first: u32, among: u32, n: u32, out: usize, swaps: usize): void {
    for (let i: u32 = 0; i < n; i++) {
      const j = i + random_below(random, among - i);
      store<u32>(swaps + ((<usize>i) << 2), j);
      this.swap(first + i, first + j);
      store<u32>(out + ((<usize>i) << 2), this.entry(this.ring().index(first + i)));
    }
    for (let i: u32 = n; i > 0; i--) this.swap(first + i - 1, first + load<u32>(swaps + ((<usize>(i - 1)) << 2)));
  }

  /** Converts slots (u32 × n) at `out` to their places in the ring, counted after the `first` oldest. O(n) */
  places(first: u32, out: usize, n: u32): void {
    const ring = this.ring();
    for (const end = out + ((<usize>n) << 2); out < end; out += 4) {
      const index = this.position(load<u32>(out));
      store<u32>(out, (index >= ring.head ? index - ring.head : index + ring.capacity - ring.head) - first);
    }
  }

  /** Returns the address of the i-th word that describes the beginning and the end of the ring: disorder, head, count. */
  endAt(i: u32): usize {
    if (i == 0) return changetype<usize>(this) + offsetof<Uniform>("disorder");
    return changetype<usize>(this.ring()) + (i == 1 ? offsetof<Ring>("head") : offsetof<Ring>("count"));
  }

  /** Restores the entry of a slot from the loaded position; false if the position is invalid. */
  restore(slot: u32): bool {
    const position = this.position(slot);
    if (position >= this.ring().capacity) return false;
    this.setEntry(position, slot);
    this.strays |= position ^ (slot - 1);
    return true;
  }

  /** Returns 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    const ring = this.ring();
    if (ring.count != count || count > ring.capacity || ring.head >= ring.capacity) return 1;
    if (this.disorder > count) return 2;
    for (let i: u32 = 0; i < count; i++) {
      const slot = this.entry(ring.index(i));
      if (slot == 0 || slot > slots) return 3;
      if (this.position(slot) != ring.index(i)) return 4;
      if (this.strays == 0 && slot != ring.index(i) + 1) return 5;
    }
    return 0;
  }

  /** Returns the i-th slot of the ring. */
  @inline
  at(i: u32): u32 {
    const index = this.ring().index(i);
    return this.strays == 0 ? index + 1 : this.entry(index);
  }

  /** Returns the slot at an index. */
  @inline
  private entry(index: u32): u32 {
    return this.written == 0 ? index + 1 : load<u32>(this.entryAt(index)) ^ (index + 1);
  }

  @inline
  private setEntry(index: u32, slot: u32): void {
    this.write(this.entryAt(index), slot ^ (index + 1));
  }

  @inline
  private place(slot: u32, index: u32): void {
    this.setEntry(index, slot);
    this.setPosition(slot, index);
    this.strays |= index ^ (slot - 1);
  }

  @inline
  private write(at: usize, difference: u32): void {
    this.written |= difference;
    if (this.written != 0) store<u32>(at, difference);
  }

  @inline
  private entryAt(index: u32): usize {
    return <usize>this.ring().entries + ((<usize>index) << 2);
  }

  @inline
  private positionAt(slot: u32): usize {
    return <usize>this.positions + ((<usize>slot) << 2);
  }

  /** Moves the oldest entry into a hole at index `hole`. */
  private fill(hole: u32, slot: u32): void {
    const ring = this.ring();
    this.place(slot, hole);
    const offset = hole >= ring.head ? hole - ring.head : hole + ring.capacity - ring.head;
    this.disorder = max(this.disorder, offset + 1);
  }

  private swap(i: u32, j: u32): void {
    const ring = this.ring();
    const a = ring.index(i);
    const b = ring.index(j);
    const slot = this.entry(a);
    this.setEntry(a, this.entry(b));
    this.setEntry(b, slot);
  }
}
if (offsetof<Uniform>() != RING_AT || RING_AT + offsetof<Ring>() != UNIFORM_BYTES) ERROR("UNIFORM: RING at byte 16, the entries at byte 32");

export function uniformBytes(slots: u32): u32 {
  return UNIFORM_BYTES + (slots << 2) + ((slots + 1) << 2);
}

/** Initializes a ring in zeroed memory. `items`: the maximum number of items, at most the number of slots. */
export function uniformInit(u: Uniform, slots: u32, items: u32): void {
  const ring = u.ring();
  ring.entries = <u32>changetype<usize>(u) + UNIFORM_BYTES;
  ring.capacity = items;
  u.positions = ring.entries + (slots << 2);
}
