/**
 * Keeps the places of items in the order of insertion: the i-th oldest is found in O(log n), even after removals from the middle.
 *
 * RANKS, 48 bytes, then the entries, the indices, the bits and the sums:
 *    0 │ RING (16)                  │  slots in the order of insertion, the first and the last are live; its count includes the holes of slots that were removed in between
 *   16 │ indices u32 │ live u32     │  address of u32 × (slots + 1): each slot's index in the ring's entries
 *   24 │ bits u32    │ sums u32     │  addresses of u64 × words, a bit for each entry that is live, and of u32 × (words + 1), a Fenwick tree of their counts
 *   32 │ sparse u32  │ due u32      │  1: there may be holes, and bits and sums are kept · inserts until bits and sums may be dropped
 *   40 │ words u32   │ top u32      │  the highest power of 2 up to words
 *
 * Bits and sums cost nothing as long as items are removed only at the ends. They are built, in O(n / 64), at the first removal from the middle, and dropped
 * once no hole is left. The ring has 1.5 times as many entries as there are items. If the ring is full, its entries move together: O(n), at most once per n / 2
 * inserts.
 */
import { Ring } from "../memory/ring";

const RANKS_BYTES: u32 = 48;
const RING_BYTES: usize = 16;

@unmanaged
export class Ranks {
  entries: u32;
  capacity: u32;
  head: u32;
  span: u32;
  indices: u32;
  live: u32;
  bits: u32;
  sums: u32;
  sparse: u32;
  due: u32;
  words: u32;
  top: u32;

  /** Adds a slot as the youngest. O(1) */
  insert(slot: u32): void {
    this.live += 1;
    this.push(slot);
  }

  /** Removes a slot. `oldest`, `youngest`: the ends of the remaining slots, if any. O(1), O(log n) with holes */
  remove(slot: u32, oldest: u32, youngest: u32): void {
    const index = this.index(slot);
    this.live -= 1;
    if (this.live == 0) {
      this.head = 0;
      this.span = 0;
      this.sparse = 0;
      return;
    }
    const inside = index != this.head && index != this.ring().index(this.span - 1);
    if (inside && this.sparse == 0) this.thin();
    if (this.sparse != 0) this.mark(index, false);
    if (inside) return;
    const head = this.index(oldest);
    this.span = this.offset(this.index(youngest), head) + 1;
    this.head = head;
  }

  /** Makes the oldest slot the youngest. `next`: the slot after the oldest. O(1), O(log n) with holes */
  turn(slot: u32, next: u32): void {
    if (this.live == 1) return;
    if (this.sparse != 0) this.mark(this.head, false);
    const head = this.index(next);
    this.span -= this.offset(head, this.head);
    this.head = head;
    this.push(slot);
  }

  /** Returns how many slots are older than `slot`. O(log n) */
  rank(slot: u32): u32 {
    const index = this.index(slot);
    if (this.sparse == 0) return this.offset(index, this.head);
    const before = this.before(index);
    const first = this.before(this.head);
    return index >= this.head ? before - first : this.live - first + before;
  }

  /** Converts n ranks (u32, as returned by `rank`) at `out` to their slots. O(n), O(n log n) with holes */
  find(out: usize, n: u32): void {
    const end = out + ((<usize>n) << 2);
    const ring = this.ring();
    if (this.sparse == 0) {
      for (let at = out; at < end; at += 4) store<u32>(at, ring.get(load<u32>(at)));
      return;
    }
    const first = this.before(this.head);
    const behind = this.live - first;
    for (let at = out; at < end; at += 4) {
      const rank = load<u32>(at);
      store<u32>(at, load<u32>(this.entryAt(this.select(rank < behind ? rank + first : rank - behind))));
    }
  }

  /** Removes all slots. */
  clear(): void {
    this.live = 0;
    this.head = 0;
    this.span = 0;
    this.sparse = 0;
  }

  /** Returns 0, or the number of the broken invariant. `oldest` and the links that follow it define the order. */
  check(count: u32, oldest: u32, links: usize): i32 {
    if (this.live != count || this.span > this.capacity || this.span < count || (this.sparse == 0 && this.span != count)) return 6;
    let slot = oldest;
    let last: u32 = 0;
    for (let i: u32 = 0; i < count; i++) {
      const index = this.index(slot);
      const offset = this.offset(index, this.head);
      if (index >= this.capacity || load<u32>(this.entryAt(index)) != slot || offset >= this.span) return 7;
      if ((i == 0 && offset != 0) || (i != 0 && offset <= last) || this.rank(slot) != i) return 8;
      last = offset;
      slot = load<u32>(links + ((<usize>slot) << 5), 4);
    }
    return count != 0 && last + 1 != this.span ? 8 : 0;
  }

  @inline
  private ring(): Ring {
    return changetype<Ring>(changetype<usize>(this));
  }

  @inline
  private index(slot: u32): u32 {
    return load<u32>(<usize>this.indices + ((<usize>slot) << 2));
  }

  @inline
  private entryAt(index: u32): usize {
    return <usize>this.entries + ((<usize>index) << 2);
  }

  /** Returns how many entries after the index `from` the index `index` is, around the ring. */
  @inline
  private offset(index: u32, from: u32): u32 {
    return index >= from ? index - from : index + this.capacity - from;
  }

  private push(slot: u32): void {
    if (this.span == this.capacity) this.compact();
    const index = this.ring().index(this.span);
    this.place(slot, index);
    this.span += 1;
    if (this.sparse == 0) return;
    this.mark(index, true);
    if (this.due != 0) this.due -= 1;
    else if (this.span == this.live) this.sparse = 0;
  }

  @inline
  private place(slot: u32, index: u32): void {
    store<u32>(this.entryAt(index), slot);
    store<u32>(<usize>this.indices + ((<usize>slot) << 2), index);
  }

  /** Moves the entries together, which removes all holes. There is at least one hole, because there are fewer items than entries. O(n) */
  private compact(): void {
    const ring = this.ring();
    let to: u32 = 0;
    for (let i: u32 = 0; i < this.span; i++) {
      const index = ring.index(i);
      if (this.has(index)) {
        this.place(load<u32>(this.entryAt(index)), ring.index(to));
        to += 1;
      }
    }
    this.span = to;
    this.sparse = 0;
  }

  /** Builds bits and sums for a ring without holes. O(n / 64) */
  private thin(): void {
    this.sparse = 1;
    // Bits and sums are kept for at least this many inserts, so that the cost of building them is spread over these inserts.
    this.due = this.words;
    const end = this.head + this.span;
    for (let word: u32 = 0; word < this.words; word++) {
      const from = word << 6;
      let bits = Ranks.within(from, this.head, min(end, this.capacity));
      if (end > this.capacity) bits |= Ranks.within(from, 0, end - this.capacity);
      store<u64>(this.wordAt(word), bits);
    }
    for (let k: u32 = 1; k <= this.words; k++) store<u32>(this.sumAt(k), <u32>popcnt<u64>(load<u64>(this.wordAt(k - 1))));
    for (let k: u32 = 1; k <= this.words; k++) {
      const parent = k + (k & (0 - k));
      if (parent <= this.words) store<u32>(this.sumAt(parent), load<u32>(this.sumAt(parent)) + load<u32>(this.sumAt(k)));
    }
  }

  /** Returns a mask of the bits that lie in `first` … `end` - 1 among the 64 bits from `from` on. */
  private static within(from: u32, first: u32, end: u32): u64 {
    const lo = first > from ? first - from : 0;
    const hi = end > from ? end - from : 0;
    if (lo >= 64 || hi <= lo) return 0;
    return (~(<u64>0) << lo) & (hi >= 64 ? ~(<u64>0) : ((<u64>1) << hi) - 1);
  }

  @inline
  private wordAt(word: u32): usize {
    return <usize>this.bits + ((<usize>word) << 3);
  }

  @inline
  private sumAt(k: u32): usize {
    return <usize>this.sums + ((<usize>k) << 2);
  }

  @inline
  private has(index: u32): bool {
    return ((load<u64>(this.wordAt(index >> 6)) >> (index & 63)) & 1) != 0;
  }

  /** Flips the bit of an entry, and updates the sums. O(log n) */
  private mark(index: u32, live: bool): void {
    const word = this.wordAt(index >> 6);
    store<u64>(word, load<u64>(word) ^ ((<u64>1) << (index & 63)));
    const more: u32 = live ? 1 : 0xffffffff;
    for (let k = (index >> 6) + 1; k <= this.words; k += k & (0 - k)) store<u32>(this.sumAt(k), load<u32>(this.sumAt(k)) + more);
  }

  /** Counts the live entries below an index. O(log n) */
  private before(index: u32): u32 {
    let n = <u32>popcnt<u64>(load<u64>(this.wordAt(index >> 6)) & (((<u64>1) << (index & 63)) - 1));
    for (let k = index >> 6; k != 0; k &= k - 1) n += load<u32>(this.sumAt(k));
    return n;
  }

  /** Returns the index of the live entry with `rest` live entries below it. O(log n) */
  private select(rest: u32): u32 {
    let word: u32 = 0;
    for (let step = this.top; step != 0; step >>= 1) {
      const next = word + step;
      if (next > this.words) continue;
      const n = load<u32>(this.sumAt(next));
      if (rest < n) continue;
      rest -= n;
      word = next;
    }
    let bits = load<u64>(this.wordAt(word));
    let at: u32 = 0;
    for (let half: u32 = 32; half != 0; half >>= 1) {
      const n = <u32>popcnt<u64>(bits & (((<u64>1) << half) - 1));
      if (rest < n) continue;
      rest -= n;
      bits >>= half;
      at += half;
    }
    return (word << 6) + at;
  }
}
if (offsetof<Ranks>() != RANKS_BYTES || offsetof<Ring>() != RING_BYTES || offsetof<Ranks>("span") != offsetof<Ring>("count"))
  ERROR("RANKS begins with RING, and is 48 bytes");

/** Returns the number of entries of a ring for up to `items` items, in whole words of bits. */
function entriesOf(items: u32): u32 {
  return (items + (items >> 1) + 64) & ~63;
}

export function ranksBytes(slots: u32, items: u32): u32 {
  const entries = entriesOf(items);
  return RANKS_BYTES + (entries << 2) + (((slots + 2) & ~1) << 2) + (entries >> 3) + (((entries >> 6) + 1) << 2);
}

/** Initializes ranks in zeroed memory at a multiple of 8. `items`: the maximum number of items, at most the number of slots. */
export function ranksInit(r: Ranks, slots: u32, items: u32): void {
  r.capacity = entriesOf(items);
  r.entries = <u32>changetype<usize>(r) + RANKS_BYTES;
  r.indices = r.entries + (r.capacity << 2);
  r.bits = r.indices + (((slots + 2) & ~1) << 2);
  r.words = r.capacity >> 6;
  r.sums = r.bits + (r.words << 3);
  r.top = 1 << (31 - clz(r.words));
}
