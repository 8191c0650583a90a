/** One of the windows that grow: it is lent to a writer for what is appended, and takes it over. */

import { Windows } from "../draw/streams";
import { arena_alloc, arena_free } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { GRANULE } from "../memory/layout";
import { endEpisode, Stream } from "../rows/stream";

/** A window begins with one granule. */
const FIRST_ENTRIES: u32 = GRANULE >> 2;
/** More entries than this would be more than half of the largest memory. */
const MOST_ENTRIES: u32 = 1 << 29;

/** The address of stream i. */
export function window_stream(windows: usize, i: u32): u32 {
  return <u32>changetype<usize>(changetype<Windows>(windows).stream(i));
}

/** Steps in window i. */
export function window_length(windows: usize, i: u32): u32 {
  return changetype<Windows>(windows).stream(i).window().count;
}

/** Room for `steps` more in window i: its entries double. 0, or OUT_OF_MEMORY, and then nothing changed. O(1) a step, over many */
export function window_reserve(windows: usize, i: u32, steps: u32): i32 {
  const window = changetype<Windows>(windows).stream(i).window();
  if (steps > MOST_ENTRIES - window.count) return E_OUT_OF_MEMORY;
  const need = window.count + steps;
  if (need <= window.capacity) return 0;
  let capacity = max(window.capacity << 1, FIRST_ENTRIES);
  while (capacity < need) capacity <<= 1;
  const entries = arena_alloc(capacity << 2);
  if (entries == 0) return E_OUT_OF_MEMORY;
  // It never turns: the oldest is the first.
  if (window.capacity != 0) {
    memory.copy(entries, window.entries, (<usize>window.count) << 2);
    arena_free(window.entries, window.capacity << 2);
  }
  window.entries = entries;
  window.capacity = capacity;
  return 0;
}

/** A writer's stream, which is empty, goes on where window i ended: what it appends is linked, shared and numbered as if it were appended there. */
export function window_lend(windows: usize, i: u32, writerStream: usize): void {
  const from = changetype<Windows>(windows).stream(i);
  const to = changetype<Stream>(writerStream);
  to.last = from.last;
  to.episode = from.episode;
  to.episodeStep = from.episodeStep;
  to.fresh = from.fresh;
}

/** Window i takes over what was appended since it was lent; there must be room (`window_reserve`). The writer's stream is empty again. O(steps) */
export function window_take(windows: usize, i: u32, writerStream: usize): void {
  const w = changetype<Windows>(windows);
  const to = w.stream(i);
  const from = changetype<Stream>(writerStream);
  const rows = from.window();
  while (rows.count != 0) to.window().push(rows.shift());
  to.last = from.last;
  to.episode = from.episode;
  to.episodeStep = from.episodeStep;
  to.fresh = from.fresh;
  from.last = 0;
  from.fresh = 1;
  w.stale = 1;
}

/** Lets all steps of window i go; the next one begins an episode. The entries stay, for what comes. O(steps) */
export function window_clear(windows: usize, i: u32): void {
  const w = changetype<Windows>(windows);
  endEpisode(w.stream(i), false);
  w.stream(i).window().head = 0;
  w.stale = 1;
}
