/**
 * The running episode of one environment, whose window holds what PFRL's does: the last `keep` steps, or with keep 0 all of them. It is a WRITER with one
 * lane, so that the core makes items of it; but one writer of the host stages and checks the steps of all environments: its stream is lent the episode that
 * it goes on with, and the episode takes over what was appended.
 *
 * ENV, one granule: │ WRITER (24) │ STREAM (40) │ u32 × 1,008: the ring's entries, as long as it needs no more │
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { E_LENGTH, E_OUT_OF_MEMORY } from "../memory/error";
import { Stream, streamBytes } from "../rows/stream";
import { MAX_LENGTH } from "../tables/slots";
import { Writer, writer_init } from "./writer";

/** Entries that have room beside the stream. */
const INLINE: u32 = 1008;
/** More entries than this would be more than half of the largest memory. */
const MOST_ENTRIES: u32 = 1 << 29;

/** In zeroed memory of one granule. */
export function env_init(env: usize, pool: u32, keep: u32): void {
  writer_init(env, pool, 1, 0, keep == 0 ? INLINE : min(keep, INLINE), 0);
}

/** The writer's stream, which is empty, goes on where this one ended. 0; OUT_OF_MEMORY, or LENGTH where the episode is as long as an item can be: then nothing changed. */
export function env_lend(env: usize, writerStream: usize, keep: u32): i32 {
  const from = streamOf(env);
  const code = makeRoom(from, keep);
  if (code != 0) return code;
  const to = changetype<Stream>(writerStream);
  to.last = from.last;
  to.episode = from.episode;
  to.episodeStep = from.episodeStep;
  to.fresh = from.fresh;
  return 0;
}

/** Takes over what was appended; the oldest step leaves a full window. The writer's stream is empty again. How many steps the window has. */
export function env_take(env: usize, writerStream: usize): u32 {
  const to = streamOf(env);
  const from = changetype<Stream>(writerStream);
  const window = to.window();
  const rows = from.window();
  while (rows.count != 0) {
    const row = rows.shift();
    if (window.count == window.capacity) to.rows().release(window.replace(row));
    else window.push(row);
  }
  to.last = from.last;
  to.episode = from.episode;
  to.episodeStep = from.episodeStep;
  to.fresh = from.fresh;
  from.last = 0;
  from.fresh = 1;
  return window.count;
}

/** Room for n more steps; 0, or OUT_OF_MEMORY, and then nothing changed. */
export function env_reserve(env: usize, n: u32): i32 {
  const s = streamOf(env);
  while (s.window().capacity - s.window().count < n) if (!grow(s, MOST_ENTRIES)) return E_OUT_OF_MEMORY;
  return 0;
}

/** Of an episode that ended: the ring is as it was at first. */
export function env_shrink(env: usize): void {
  const s = streamOf(env);
  const window = s.window();
  window.head = 0;
  if (window.entries == inlineOf(s)) return;
  arena_free(window.entries, window.capacity << 2);
  window.entries = inlineOf(s);
  window.capacity = INLINE;
}

/** The newest row; 0 where there is none. */
export function env_row(env: usize): u32 {
  return streamOf(env).last;
}

/** The rows of the window from the `from`-th on, oldest first, up to `most`; how many. */
export function env_rows(env: usize, from: u32, most: u32, out: usize): u32 {
  const window = streamOf(env).window();
  const count = from < window.count ? min(most, window.count - from) : 0;
  for (let i: u32 = 0; i < count; i++) store<u32>(out + ((<usize>i) << 2), window.get(from + i));
  return count;
}

/** How many steps the window has. */
export function env_length(env: usize): u32 {
  return streamOf(env).window().count;
}

export function streamOf(env: usize): Stream {
  return changetype<Writer>(env).stream(0);
}

/** Room in the window for a step more, unless it keeps no more. */
export function makeRoom(s: Stream, keep: u32): i32 {
  const window = s.window();
  if (window.count != window.capacity || window.capacity == keep) return 0;
  if (window.count == MAX_LENGTH) return E_LENGTH;
  return grow(s, keep == 0 ? MAX_LENGTH : keep) ? 0 : E_OUT_OF_MEMORY;
}

function inlineOf(s: Stream): u32 {
  return <u32>changetype<usize>(s) + streamBytes(0);
}

/** Entries for twice as many steps, `most` at most. */
function grow(s: Stream, most: u32): bool {
  const window = s.window();
  const capacity = min(window.capacity << 1, most);
  if (capacity == window.capacity) return false;
  const entries = arena_alloc(capacity << 2);
  if (entries == 0) return false;
  for (let i: u32 = 0; i < window.count; i++) store<u32>(<usize>entries + ((<usize>i) << 2), window.get(i));
  if (window.entries != inlineOf(s)) arena_free(window.entries, window.capacity << 2);
  window.entries = entries;
  window.capacity = capacity;
  window.head = 0;
  return true;
}
