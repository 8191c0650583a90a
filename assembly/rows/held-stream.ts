/**
 * Manages the steps that a stream holds, oldest first. A growing stream is lent to a writer, which stages and checks steps. Afterwards the stream takes over
 * the steps that the writer appended.
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { GRANULE } from "../memory/layout";
import { FIRST, Stream, stream_bytes } from "./stream";

/** The initial number of a stream's entries if they are not stored inline: as many as fit into one granule. */
const FIRST_ENTRIES: u32 = GRANULE >> 2;
/** The maximum number of entries. More entries would take more than half of the largest memory. */
const MAX_ENTRIES: u32 = 1 << 29;

/** Returns the number of steps that the stream holds. */
export function stream_length(stream: usize): u32 {
  return changetype<Stream>(stream).recent().count;
}

/** Returns the newest row of a stream; 0 if there is no row to which the next step is linked. */
export function stream_newest(stream: usize): u32 {
  return changetype<Stream>(stream).last;
}

/** Writes the rows that the stream holds, from the `from`-th oldest on, up to `max`; returns how many. */
export function stream_rows(stream: usize, from: u32, max: u32, out: usize): u32 {
  const recent = changetype<Stream>(stream).recent();
  const count = from < recent.count ? min(max, recent.count - from) : 0;
  for (let i: u32 = 0; i < count; i++) store<u32>(out + ((<usize>i) << 2), recent.get(from + i));
  return count;
}

/**
 * Makes room for n more steps, or for as many steps as the stream may hold. Returns 0, or OUT_OF_MEMORY, in which case nothing changed. Amortized O(1) per
 * step
 */
export function stream_reserve(stream: usize, n: u32): i32 {
  return makeRoom(changetype<Stream>(stream), n) ? 0 : E_OUT_OF_MEMORY;
}

/** Lets the empty stream of a writer continue where this stream ended: appended steps are linked, shared and numbered as if appended here. */
export function stream_lend(stream: usize, to: usize): void {
  continueFrom(changetype<Stream>(to), changetype<Stream>(stream));
}

/**
 * Takes over the steps appended since the stream was lent; there must be room. If the stream cannot hold more, the oldest steps are released. Afterwards the
 * writer's stream is empty. O(steps)
 */
export function stream_take(stream: usize, from: usize): void {
  const s = changetype<Stream>(stream);
  const writer = changetype<Stream>(from);
  const rows = writer.recent();
  while (rows.count != 0) s.keep(s.rows(), rows.shift());
  continueFrom(s, writer);
  writer.last = 0;
  writer.awaits = FIRST;
  writer.episodeStep = 0;
}

/** Also holds the steps of another stream, which become the newest steps of this one; there must be room. O(steps) */
export function stream_hold(stream: usize, other: usize): void {
  const s = changetype<Stream>(stream);
  const from = changetype<Stream>(other).recent();
  for (let i: u32 = 0; i < from.count; i++) {
    const row = from.get(i);
    s.rows().retain(row);
    s.keep(s.rows(), row);
  }
}

/** Releases the n oldest steps. O(n) */
export function stream_drop(stream: usize, n: u32): void {
  const s = changetype<Stream>(stream);
  for (; n > 0; n--) s.rows().release(s.recent().shift());
}

/** Frees the memory of an empty stream, except the part stored inline. `room`: the number of entries stored inline. */
export function stream_shrink(stream: usize, room: u32): void {
  const s = changetype<Stream>(stream);
  const recent = s.recent();
  recent.head = 0;
  if (recent.entries == besideOf(s)) return;
  arena_free(recent.entries, recent.capacity << 2);
  recent.entries = besideOf(s);
  recent.capacity = room;
}

/** Makes room for n more steps, or for as many as the stream may hold, by doubling its entries. Returns false, and changes nothing, if there is no memory. */
export function makeRoom(s: Stream, n: u32): bool {
  const recent = s.recent();
  const max = s.limit == 0 ? MAX_ENTRIES : s.limit;
  const left = max - recent.count;
  if (n > left && s.limit == 0) return false;
  const need = recent.count + min(n, left);
  if (need <= recent.capacity) return true;
  let capacity = recent.capacity;
  do capacity = min(capacity == 0 ? FIRST_ENTRIES : capacity << 1, max);
  while (capacity < need);
  const entries = arena_alloc(capacity << 2);
  if (entries == 0) return false;
  for (let i: u32 = 0; i < recent.count; i++) store<u32>(<usize>entries + ((<usize>i) << 2), recent.get(i));
  if (recent.entries != besideOf(s)) arena_free(recent.entries, recent.capacity << 2);
  recent.entries = entries;
  recent.capacity = capacity;
  recent.head = 0;
  return true;
}

function continueFrom(to: Stream, from: Stream): void {
  to.last = from.last;
  to.episode = from.episode;
  to.episodeStep = from.episodeStep;
  to.awaits = from.awaits;
  to.straightAt = from.straightAt;
  to.numberedAt = from.numberedAt;
}

/** Returns the address at which a stream's inline entries begin. */
function besideOf(s: Stream): u32 {
  return <u32>changetype<usize>(s) + stream_bytes(0);
}
