/**
 * The common case, made fast: in a full fifo table each new item takes the place of the oldest one. The same as insert, then
 * evict, but the slot stays, the order only moves its head, a ring that is full only turns, and a tree is climbed once.
 */
import { Run } from "./pool";
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
}
