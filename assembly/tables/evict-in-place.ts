/**
 * Implements a fast path for the common case: in a full fifo table, each new item replaces the oldest one. The result is the same as with an insert and an
 * eviction, but the slot is kept, the order only moves its head, a full ring only rotates, and a tree is updated once.
 */
import { tracking } from "../rows/changes";
import { PIECEWISE, PLAIN, Run } from "../rows/run";
import { SLIDES, Sliding } from "../rows/sliding";
import { ITEM_BYTES } from "../selectors/items";
import { Item, MAX_LENGTH, Slots } from "./slots";
import { countEpisodes, joinSteps, leaveEpisode, leaveSteps, Table } from "./table";

@unmanaged
export class EvictInPlace {
  /**
   * Whether the next item of this episode, a single run, can replace the oldest item. Reserves room to count a new episode.
   * The answer affects the key of the next item, so the answer must not depend on cached look-ups.
   */
  @inline
  static fits(t: Table, episode: u32): bool {
    // The conditions are nested, because V8 stores the value of each && as a number.
    if (t.evictsInPlace != 0) {
      if (t.count == t.maxSize) {
        if (t.slots().renews(t.remover().order().oldest)) return t.episodes().joins(episode) || t.episodes().reserve(1);
      }
    }
    return false;
  }

  /** Inserts one item that `fits`, whose run is held already. */
  @inline
  static one(t: Table, episode: u32, first: u32, length: u32, run: u32, layout: u32, priority: f64): void {
    const slot = t.remover().order().oldest;
    const item = t.slots().item(slot);
    const oldFirst = item.first;
    const oldLength = item.length();
    const oldKind = item.kind();
    const slid = (item.word & SLIDES) != 0;
    t.newest = slot;
    t.limiter().inserts += 1;
    if (length != oldLength) t.steps += <f64>length - <f64>oldLength;
    t.episodes().add(episode);
    if (item.single()) {
      const left = t.rows().episode(oldFirst);
      if (t.episodes().leavesSome(left)) t.episodes().leaveAgain();
      else leaveEpisode(t, left);
    } else {
      countEpisodes(t, oldFirst, oldLength, false);
    }
    item.begin(first, length, run);
    t.sees(layout, length, length);
    item.generation = t.slots().nextGeneration(item);
    item.priority = Math.abs(priority);
    t.seesPriority(priority);
    if (t.slots().extras != 0) setExtras(t, slot, layout, oldFirst, oldLength);
    t.remover().order().renew();
    if (t.hasSeparateRemover()) t.sampler().replace(slot, priority);
    else t.sampler().turned(slot);
    if (slid) Sliding.release(t.rows(), oldFirst, oldLength, oldKind);
    else Run.release(t.rows(), oldFirst, oldLength);
  }

  /**
   * Returns how many single runs of this episode, up to `limit`, can replace the oldest items together. Those items are in neighbouring slots and have
   * the same form, either plain or sliding in pieces. They belong to one episode that keeps other items, and each begins one row after the previous one.
   */
  static fitting(t: Table, episode: u32, limit: u32): u32 {
    const slots = t.slots();
    const slot = t.remover().order().oldest;
    // Held steps are noted item by item.
    if (slots.heldSteps != 0 || !EvictInPlace.fits(t, episode) || !t.episodes().joins(episode) || !t.sampler().replacesMany(slot)) return 0;
    const order = t.remover().order();
    const first = slots.item(slot).first;
    let item = slots.item(slot);
    const word = item.form();
    const left = t.rows().episode(first);
    // In a piecewise run, each row except those at the ends of blocks is followed by its neighbour.
    if ((word & PLAIN) == 0 && ((word & SLIDES) == 0 || (word & PIECEWISE) == 0)) return 0;
    limit = min(min(limit, t.maxSize), t.episodes().items(left) - 1);
    // Runs of two rows or more overlap, and no run spans two episodes.
    const overlap = (word & MAX_LENGTH) > 1;
    for (let n: u32 = 0; n < limit; n++) {
      if (item.first != first + n || item.form() != word || item.generation >= slots.lastGeneration) return n;
      if (!overlap && t.rows().episode(first + n) != left) return n;
      if (order.next(slot + n) != slot + n + 1) return n + 1;
      item = changetype<Item>(changetype<usize>(item) + ITEM_BYTES);
    }
    return limit;
  }

  /**
   * Inserts n items, where n is a result of `fitting`, of runs whose rows are held already. The first run begins at `first`, and each of the others one row
   * later. `priorities`: f64 × n, or 0 for `priority` each.
   */
  @inline
  static many(t: Table, first: u32, word: u32, layout: u32, n: u32, priority: f64, priorities: usize): void {
    const slots = t.slots();
    const order = t.remover().order();
    const slot = order.oldest;
    const oldFirst = slots.item(slot).first;
    const oldLength = slots.item(slot).length();
    const oldKind = slots.item(slot).kind();
    const slid = (slots.item(slot).word & SLIDES) != 0;
    const newest = slot + n - 1;
    let item = slots.item(slot);
    const since = slots.since;
    for (let row = first; row < first + n; row++) {
      if (priorities != 0) {
        priority = load<f64>(priorities + ((<usize>(row - first)) << 3));
        t.seesPriority(priority);
      }
      item.priority = Math.abs(priority);
      item.first = row;
      item.word = word;
      item.generation = max(item.generation + 1, since);
      item.timesSampled = 0;
      item = changetype<Item>(changetype<usize>(item) + ITEM_BYTES);
    }
    t.seesPriority(priority);
    order.oldest = order.next(newest);
    t.newest = newest;
    t.sees(layout, word & MAX_LENGTH, word & MAX_LENGTH);
    t.steps += <f64>n * (<f64>(word & MAX_LENGTH) - <f64>oldLength);
    t.limiter().inserts += n;
    t.episodes().move(t.rows().episode(oldFirst), n);
    t.sampler().replaceMany(slot, n, <usize>slots.items);
    if (slid) Sliding.releaseMany(t.rows(), oldFirst, n, oldLength, oldKind);
    else Run.releaseMany(t.rows(), oldFirst, n, oldLength);
    // This call comes last, because a call in the middle would cost registers.
    if (slots.extras != 0) setManyExtras(slots, slot, n, layout);
  }
}

/** Writes the extra data of a reused slot, apart from ITEM and priority. This is a separate function, because most tables have no extra data. */
function setExtras(t: Table, slot: u32, layout: u32, oldFirst: u32, oldLength: u32): void {
  const slots = t.slots();
  joinSteps(t, slots.item(slot));
  leaveSteps(t, oldFirst, oldLength);
  slots.setLayout(slot, layout);
  t.setStamp(slot);
  if (!tracking()) return;
  slots.track(slot);
  if (t.hasSeparateRemover()) slots.track(t.sampler().touched(slot, 0));
}

/** Like `setExtras`, for n adjacent slots of a table without stamps and held steps. */
function setManyExtras(slots: Slots, slot: u32, n: u32, layout: u32): void {
  for (let i: u32 = 0; i < n; i++) slots.setLayout(slot + i, layout);
  if (tracking()) slots.track(slot, n);
}
