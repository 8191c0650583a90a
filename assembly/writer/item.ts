/** Creates items from runs of recent steps, as far as the tables let the items in. */
import { E_FINAL, E_LENGTH, E_OUT_OF_MEMORY, E_PRIORITY, E_RATE_LIMITED, fail } from "../memory/error";
import { Head } from "../rows/row";
import { Run, SINGLE } from "../rows/run";
import { SHORTEST, Sliding } from "../rows/sliding";
import { Stream } from "../rows/stream";
import { EvictInPlace } from "../tables/evict-in-place";
import { insertItem, Table, UNORDERED } from "../tables/table";

/** Inserts an item of a stream's last `length` steps. Returns 1 if the item is in the table, 0 if it waits for the limiter, or a code. O(length + log n) */
export function table_insert(table: usize, stream: usize, length: u32, layout: u32, priority: f64): i32 {
  return table_insert_earlier(table, stream, length, 0, layout, priority, 0);
}

/**
 * Like `table_insert`, for the `length` steps that end `behind` steps before the newest. `isEarlier`: an item that is or was in the table ends later in the
 * episode.
 */
export function table_insert_earlier(table: usize, stream: usize, length: u32, behind: u32, layout: u32, priority: f64, isEarlier: u32): i32 {
  const s = changetype<Stream>(stream);
  const first = length == 0 ? 0 : s.firstOf(length + behind);
  if (first == 0) return fail(E_LENGTH, 3, <f64>length);
  if (s.rows().isFinal(first)) return fail(E_FINAL, 3, <f64>length);
  const t = changetype<Table>(table);
  if (!t.takes(priority)) return fail(E_PRIORITY, 5, priority);
  if (layout != 0 && !t.slots().reserveLayouts()) return E_OUT_OF_MEMORY;
  const made = makeItem(s, Head.of(first).episode, t, first, length, layout, priority, behind == 0);
  if (isEarlier != 0 && made >= 0) t.mixed |= UNORDERED;
  return made;
}

/**
 * Makes an item of a run of recent steps that begins in `episode`: replaces an old item in its slot if possible, else inserts the item. `last`: whether the
 * item ends with the stream's newest step. Returns 1 if the item is in the table, 0 if it waits.
 */
export function makeItem(s: Stream, episode: u32, t: Table, first: u32, length: u32, layout: u32, priority: f64, last: bool = true): i32 {
  const run = last && length >= SHORTEST ? Sliding.retain(s, t.rows(), first, length) : Run.retain(t.rows(), first, length);
  if ((run & SINGLE) != 0) {
    if (EvictInPlace.fits(t, episode)) {
      EvictInPlace.one(t, episode, first, length, run, layout, priority);
      return 1;
    }
  }
  return insertItem(t, first, length, run, layout, priority);
}

/** Checks whether n more items, in at most `episodes` episodes, can be inserted or may wait, and reserves room for the episodes. Returns 0 or a code. */
export function canTake(t: Table, n: u32, episodes: u32): i32 {
  let passing: u32 = t.pending != 0 ? 0 : n;
  while (passing != 0 && !t.limiter().canInsert(passing, t.count)) passing--;
  if (t.pending + n - passing > t.maxPending) return fail(E_RATE_LIMITED, 0, <f64>t.pending);
  // A waiting item has its own entry for its episode.
  return t.episodes().reserve(episodes + (n - passing)) ? 0 : E_OUT_OF_MEMORY;
}
