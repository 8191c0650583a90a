/**
 * The common case, made fast: in a full fifo table each new item takes the place of the oldest one. The same as insert, then
 * evict, but the slot stays, the order only moves its head, a ring that is full only turns, and a tree is climbed once.
 */
import { HEAD_BYTES, PLAIN, Run } from "./pool";
import { PRIORITIZED, UNIFORM } from "./selectors/selector";
import { MAX_LENGTH } from "./slots";
import { countEpisodes, leaveEpisode, Table } from "./table";

@unmanaged
export class Turn {
  /** Whether the next item of this episode, a single run, can be turned in. */
  @inline
  static fits(t: Table, episode: u32): bool {
    // Nested, since V8 keeps the value of each && as a number.
    if (t.turning != 0) {
      if (t.count == t.maxSize) {
        if (t.episodes().joins(episode)) return t.slots().renews(t.remover().order().oldest);
      }
    }
    return false;
  }

  /** One item: its run is held, and it `fits`. */
  static one(t: Table, first: u32, length: u32, run: u32, shape: u32, priority: f64): void {
    const slot = t.remover().order().oldest;
    const item = t.slots().item(slot);
    const oldFirst = item.first;
    const oldLength = item.length();
    t.newest = slot;
    t.limiter().inserts += 1;
    if (length != oldLength) t.steps += <f64>length - <f64>oldLength;
    t.episodes().joinAgain();
    if (item.single()) {
      const left = t.rows().episode(oldFirst);
      if (t.episodes().leavesSome(left)) t.episodes().leaveAgain();
      else leaveEpisode(t, left);
    } else {
      countEpisodes(t, oldFirst, oldLength, false);
    }
    item.begin(first, length, run, shape);
    item.generation += 1;
    t.mark(slot, priority);
    t.remover().order().renew();
    if (t.apart()) t.sampler().replace(slot, priority);
    Run.release(t.rows(), oldFirst, oldLength);
  }

  /** How many single runs of this episode can take the places of the oldest items, up to `most`, and those be let go of as one. */
  static fitting(t: Table, episode: u32, most: u32): u32 {
    const slots = t.slots();
    let slot = t.remover().order().oldest;
    if (!Turn.fits(t, episode) || slots.touches != 0) return 0;
    if (t.sampler().kind == UNIFORM && !t.sampler().uniform().turns(slot)) return 0;
    const pool = t.rows();
    const first = slots.item(slot).first;
    const word = slots.item(slot).word;
    const left = pool.episode(first);
    if ((word & PLAIN) == 0) return 0;
    most = min(min(most, t.maxSize), t.episodes().items(left) - 1);
    let head = pool.head(first);
    for (let n: u32 = 0; n < most; n++) {
      const item = slots.item(slot);
      if (item.first != first + n || item.word != word || !slots.renews(slot) || load<u32>(head, 8) != left) return n;
      slot = t.remover().order().next(slot);
      head += HEAD_BYTES;
    }
    return most;
  }

  /** `fitting` items of runs that begin at `first` and each a row further, and are held. `priorities`: f64 × n, or 0 for `priority` each; `scratch`: u32 × 2 × n. */
  static many(t: Table, first: u32, word: u32, n: u32, priority: f64, priorities: usize, scratch: usize): void {
    const slots = t.slots();
    const sampler = t.sampler();
    const weighs = sampler.kind == PRIORITIZED;
    let slot = t.remover().order().oldest;
    const oldFirst = slots.item(slot).first;
    const oldLength = slots.item(slot).length();
    const left = t.rows().episode(oldFirst);
    for (let i: u32 = 0; i < n; i++) {
      const item = slots.item(slot);
      item.first = first + i;
      item.word = word;
      item.generation += 1;
      item.timesSampled = 0;
      if (priorities != 0) priority = load<f64>(priorities + ((<usize>i) << 3));
      store<f64>(slots.priorityAt(slot), Math.abs(priority));
      if (weighs) {
        store<f64>(sampler.tree().leaf(slot), sampler.tree().weigh(priority));
        store<u32>(scratch + ((<usize>i) << 2), slot);
      }
      t.newest = slot;
      slot = t.remover().order().next(slot);
    }
    t.remover().order().oldest = slot;
    t.steps += <f64>n * (<f64>(word & MAX_LENGTH) - <f64>oldLength);
    t.limiter().inserts += n;
    t.episodes().move(left, n);
    if (sampler.kind == UNIFORM) sampler.uniform().ring().turnBy(n);
    if (weighs) sampler.tree().climb(scratch, n, scratch + ((<usize>n) << 2));
    Run.cover(t.rows(), oldFirst, n, oldLength, -1);
  }
}
