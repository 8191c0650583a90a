/**
 * Every item with the same probability: a dense ring of slots.
 *
 * UNIFORM, 32 bytes, then the entries and the positions:
 *    0 │ positions u32 │ disorder u32 │  address of u32 × (slots + 1): where in the ring's entries a slot stands
 *    8 │ strays u32    │ … u32        │  0: each slot stands in the place of its number, as they came; so a draw need not look, which spares a cache miss
 *   16 │ RING                         │  slots, oldest first as long as only the oldest left
 *
 * A removal in the middle moves the oldest entry into the hole. `disorder` is how far from the head such an entry can
 * stand: the first k entries are the k oldest items whenever k >= disorder.
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
  unused: u32;

  @inline
  ring(): Ring {
    return changetype<Ring>(changetype<usize>(this) + RING_AT);
  }

  @inline
  position(slot: u32): usize {
    return <usize>this.positions + ((<usize>slot) << 2);
  }

  /** O(1) */
  @inline
  insert(slot: u32): void {
    if (this.ring().count == 0) this.strays = 0;
    this.place(slot, this.ring().push(slot));
  }

  /** O(1) */
  @inline
  remove(slot: u32): void {
    const hole = load<u32>(this.position(slot));
    const oldest = this.ring().shift();
    if (this.disorder != 0) this.disorder -= 1;
    if (oldest != slot) this.fill(hole, oldest);
  }

  /** Whether a full ring only has to turn for its oldest, this slot, to leave and join again: no entry moves. */
  @inline
  evictsNext(slot: u32): bool {
    const ring = this.ring();
    return ring.count == ring.capacity && this.disorder == 0 && ring.get(0) == slot;
  }

  /** O(1): one of the `among` oldest; 0 < among <= count. */
  @inline
  draw(random: usize, among: u32): u32 {
    return this.at(random_below(random, among));
  }

  /** O(n): n of the `among` oldest, with replacement; one out of each n-th of them if `stratified`. */
  drawMany(random: usize, among: u32, n: u32, stratified: bool, out: usize): void {
    if (!stratified) fillBelow(random, among, n, out);
    else for (let i: u32 = 0; i < n; i++) store<u32>(out + ((<usize>i) << 2), min(<u32>(((<f64>i + random_f64(random)) / <f64>n) * <f64>among), among - 1));
    const end = out + ((<usize>n) << 2);
    if (this.strays == 0) this.ring().indices(out, end, 1);
    // A loop of its own: its cache misses overlap.
    else for (let at = out; at < end; at += 4) store<u32>(at, this.ring().get(load<u32>(at)));
  }

  /** O(n): n distinct ones of the `among` oldest, in random order: Fisher-Yates on the ring itself, undone afterwards. */
  drawDistinct(random: usize, among: u32, n: u32, out: usize, swaps: usize): void {
    for (let i: u32 = 0; i < n; i++) {
      const j = i + random_below(random, among - i);
      store<u32>(swaps + ((<usize>i) << 2), j);
      this.swap(i, j);
      store<u32>(out + ((<usize>i) << 2), this.ring().get(i));
    }
    for (let i: u32 = n; i > 0; i--) this.swap(i - 1, load<u32>(swaps + ((<usize>(i - 1)) << 2)));
  }

  /** Where the i-th word is that says where the ring begins and ends: disorder, head, count. */
  endAt(i: u32): usize {
    if (i == 0) return changetype<usize>(this) + offsetof<Uniform>("disorder");
    return changetype<usize>(this.ring()) + (i == 1 ? offsetof<Ring>("head") : offsetof<Ring>("count"));
  }

  /** The entry of a slot, by the position that was loaded; false where there is none such. */
  restore(slot: u32): bool {
    const position = load<u32>(this.position(slot));
    if (position >= this.ring().capacity) return false;
    store<u32>(<usize>this.ring().entries + ((<usize>position) << 2), slot);
    this.strays |= u32(position + 1 != slot);
    return true;
  }

  /** 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    const ring = this.ring();
    if (ring.count != count || count > ring.capacity || ring.head >= ring.capacity) return 1;
    if (this.disorder > count) return 2;
    for (let i: u32 = 0; i < count; i++) {
      const slot = ring.get(i);
      if (slot == 0 || slot > slots) return 3;
      if (load<u32>(this.position(slot)) != ring.index(i)) return 4;
      if (this.strays == 0 && slot != ring.index(i) + 1) return 5;
    }
    return 0;
  }

  /** The i-th slot of the ring. */
  @inline
  private at(i: u32): u32 {
    return this.strays == 0 ? this.ring().index(i) + 1 : this.ring().get(i);
  }

  /** Notes where in the entries a slot stands. */
  @inline
  private place(slot: u32, index: u32): void {
    store<u32>(this.position(slot), index);
    this.strays |= u32(index + 1 != slot);
  }

  /** Puts the entry that was the oldest into a hole at index `hole`. */
  private fill(hole: u32, slot: u32): void {
    const ring = this.ring();
    store<u32>(<usize>ring.entries + ((<usize>hole) << 2), slot);
    this.place(slot, hole);
    const offset = hole >= ring.head ? hole - ring.head : hole + ring.capacity - ring.head;
    this.disorder = max(this.disorder, offset + 1);
  }

  private swap(i: u32, j: u32): void {
    const ring = this.ring();
    const a = <usize>ring.entries + ((<usize>ring.index(i)) << 2);
    const b = <usize>ring.entries + ((<usize>ring.index(j)) << 2);
    const slot = load<u32>(a);
    store<u32>(a, load<u32>(b));
    store<u32>(b, slot);
  }
}
if (offsetof<Uniform>() != RING_AT || RING_AT + offsetof<Ring>() != UNIFORM_BYTES) ERROR("UNIFORM: RING at byte 16, the entries at byte 32");

export function uniformBytes(slots: u32): u32 {
  return UNIFORM_BYTES + (slots << 2) + ((slots + 1) << 2);
}

/** `items`: how many items there are at most, no more than slots. */
export function uniformInit(u: Uniform, slots: u32, items: u32): void {
  const ring = u.ring();
  ring.entries = <u32>changetype<usize>(u) + UNIFORM_BYTES;
  ring.capacity = items;
  u.positions = ring.entries + (slots << 2);
}
