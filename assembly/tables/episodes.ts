/**
 * Counts the live items of each episode in a hash map u32 → u32 with linear probing.
 *
 * EPISODES, 32 bytes:
 *    0 │ entries u32 │ capacity u32 │  (episode u32 │ items u32) × capacity, a power of two; items 0 = empty
 *    8 │ count u32   │ promised u32 │  episodes in the map · entries that pending items will need
 *   16 │ shift u32   │ none u32     │  none: always 0, the number of no episode
 *   24 │ joined u32  │ left u32     │  the entries that `add` and `remove` found last, since items of an episode are consecutive
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { GRANULE } from "../memory/layout";

const FIRST_CAPACITY: u32 = GRANULE >> 3;

@unmanaged
export class Episodes {
  entries: u32;
  capacity: u32;
  count: u32;
  promised: u32;
  shift: u32;
  none: u32;
  joined: u32;
  left: u32;

  /** Makes room for n more episodes; false (OUT_OF_MEMORY) leaves the map unchanged. */
  @inline
  reserve(n: u32): bool {
    const need = this.count + this.promised + n;
    // The map is at most half full, so a probe almost always touches one cache line.
    return need << 1 <= this.capacity || this.grow(need);
  }

  /** Whether this is the episode that `add` found last. */
  @inline
  joins(episode: u32): bool {
    return load<u32>(this.joined) == episode;
  }

  /** Adds an item of the episode that `add` found last. */
  @inline
  joinAgain(): void {
    store<u32>(this.joined, load<u32>(this.joined, 4) + 1, 4);
  }

  /** Adds an item of this episode; there must be room. */
  @inline
  add(episode: u32): void {
    if (!this.joins(episode)) this.join(episode);
    this.joinAgain();
  }

  /** Whether this is the episode that `remove` found last, and has more than one item. */
  @inline
  leavesSome(episode: u32): bool {
    const at = <usize>this.left;
    if (load<u32>(at) == episode) return load<u32>(at, 4) > 1;
    return false;
  }

  /** Removes an item of the episode that `remove` found last. */
  @inline
  leaveAgain(): void {
    store<u32>(this.left, load<u32>(this.left, 4) - 1, 4);
  }

  /** Removes an item; returns whether it was the last item of its episode. */
  remove(episode: u32): bool {
    let at = <usize>this.left;
    if (load<u32>(at) != episode) {
      at = this.seek(episode);
      this.left = <u32>at;
    }
    if (!ASC_NO_ASSERT) assert(load<u32>(at, 4) != 0, "an episode loses no more items than it has");
    const items = load<u32>(at, 4) - 1;
    store<u32>(at, items, 4);
    if (items != 0) return false;
    this.leave(at);
    return true;
  }

  /** Adds n items to the episode that `add` found last, and removes n items from another episode, which retains at least one item. */
  move(left: u32, n: u32): void {
    store<u32>(this.joined, load<u32>(this.joined, 4) + n, 4);
    const at = this.seek(left);
    store<u32>(at, load<u32>(at, 4) - n, 4);
  }

  /** Sets the number of an episode in a map that stores other nonzero numbers instead of counts; there must be room. */
  put(episode: u32, number: u32): void {
    const at = this.seek(episode);
    this.count += u32(load<u32>(at, 4) == 0);
    store<u32>(at, episode);
    store<u32>(at, number, 4);
  }

  /** Removes an existing episode from a map that `put` fills. */
  take(episode: u32): void {
    const at = this.seek(episode);
    store<u32>(at, 0, 4);
    this.leave(at);
  }

  @inline
  items(episode: u32): u32 {
    return this.capacity == 0 ? 0 : load<u32>(this.seek(episode), 4);
  }

  /** Returns the sum of all counts. O(capacity) */
  memberships(): u64 {
    let sum: u64 = 0;
    for (let i: usize = 0; i < <usize>this.capacity; i++) sum += load<u32>(<usize>this.entries + (i << 3), 4);
    return sum;
  }

  /** Finds the entry of an episode, or opens one. */
  private join(episode: u32): void {
    const at = this.seek(episode);
    if (load<u32>(at, 4) == 0) {
      store<u32>(at, episode);
      this.count += 1;
    }
    this.joined = <u32>at;
  }

  /** Closes an entry without items. */
  private leave(at: usize): void {
    this.count -= 1;
    this.forget();
    this.close(at);
  }

  /** Points `joined` and `left` at `none`, which is not an episode, because entries move. */
  @inline
  forget(): void {
    const none = <u32>changetype<usize>(this) + offsetof<Episodes>("none");
    this.joined = none;
    this.left = none;
  }

  /** Returns the entry of an episode, or the empty entry in which to store it. */
  private seek(episode: u32): usize {
    let at = <usize>this.entries + ((<usize>((episode * 0x9e3779b1) >> this.shift)) << 3);
    const end = <usize>this.entries + ((<usize>this.capacity) << 3);
    while (load<u32>(at, 4) != 0 && load<u32>(at) != episode) {
      at += 8;
      if (at == end) at = this.entries;
    }
    return at;
  }

  /** Moves the entries that follow an emptied entry into the gap, if otherwise a probe would no longer find them. */
  private close(hole: usize): void {
    const mask = this.capacity - 1;
    const base = <usize>this.entries;
    let gap = <u32>((hole - base) >> 3);
    for (let i = (gap + 1) & mask; load<u32>(base + ((<usize>i) << 3), 4) != 0; i = (i + 1) & mask) {
      const home = (load<u32>(base + ((<usize>i) << 3)) * 0x9e3779b1) >> this.shift;
      if (((i - home) & mask) < ((i - gap) & mask)) continue;
      store<u64>(base + ((<usize>gap) << 3), load<u64>(base + ((<usize>i) << 3)));
      store<u64>(base + ((<usize>i) << 3), 0);
      gap = i;
    }
  }

  private grow(need: u32): bool {
    let capacity = max(this.capacity, FIRST_CAPACITY >> 1);
    do capacity <<= 1;
    while (capacity < need << 1);
    const entries = arena_alloc(capacity << 3);
    if (entries == 0) return false;
    this.forget();
    const old = this.entries;
    const oldCapacity = this.capacity;
    this.entries = entries;
    this.capacity = capacity;
    this.shift = clz(capacity) + 1;
    for (let i: u32 = 0; i < oldCapacity; i++) {
      const from = <usize>old + ((<usize>i) << 3);
      if (load<u32>(from, 4) != 0) store<u64>(this.seek(load<u32>(from)), load<u64>(from));
    }
    arena_free(old, oldCapacity << 3);
    return true;
  }
}
if (offsetof<Episodes>() != 32) ERROR("EPISODES is 32 bytes");
