/**
 * Saves and loads entries of packed frames as records, unchanged, so that a restored Replay packs and evicts like the original.
 *
 * ENTRY: │ number u32 │ base u32 │ size 24 bits, depth 4 bits u32 │ bytes … │   base: the number of the entry to which a patch applies, 0 if the entry is not a patch
 *
 * The payload of a section: │ bytes u32 │ records … │
 *
 * A loaded entry is checked when it is first held, before a frame is made from it. A journal also has entries that are no longer held, whose bases may have
 * changed. If two frames refer to one entry, the entry counts a hold for each of them.
 */
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { decodeBlock } from "../packed/lz4";
import { isPatch } from "../packed/patch";
import { Work } from "../packed/work";
import { BYTES, Change, keeping, LINK } from "../rows/changes";
import { CHAIN } from "../rows/packed-frame";
import { DEPTH, DEPTH_BITS, Entry, Packs, SIZE } from "../rows/packs";
import { growPool, numberOf, Pool, rowOf } from "../rows/pool";
import { Head, LINK_ROW } from "../rows/row";
import { account, LOADED } from "./record";

const HEAD: u32 = 12;
/** The unit, in bytes, in which a CHANGE stores the size of a record, because it has only 16 bits for this size. */
const UNIT: u32 = 64;
/** The unit if frames have LARGE_FRAME bytes or more. */
const LARGE_UNIT: u32 = 512;
const LARGE_FRAME: u32 = 2 << 20;

/** Saves held entries from `number` on, as many as fit in `room` bytes, but at least one. Returns the number to continue with, 0 = done. O(bytes) */
export function record_entries(entries: usize, number: u32, room: u32, out: usize): u32 {
  const p = changetype<Pool>(entries);
  const end = out + <usize>room;
  let row: u32 = 0;
  let at = out + 4;
  for (; number <= p.high; number++) {
    row = p.rowNear(row, number - 1, number);
    if (Head.of(row).refs == 0) continue;
    if (at > out + 4 && at + HEAD + <usize>Entry.of(row).size > end) break;
    at = saveEntry(p, row, number, at);
  }
  store<u32>(out, <u32>(at - out - 4));
  return number <= p.high ? number : 0;
}

/**
 * Like `record_entries`, for the entries that changed. Removes these entries from the chain of changes, as `record_changed_rows` does. Returns whether there
 * are more.
 */
export function record_changed_entries(entries: usize, segment: u32, live: usize, room: u32, out: usize): bool {
  const p = changetype<Pool>(entries);
  const unit = unitOf(p.packed());
  const end = out + <usize>room;
  let at = out + 4;
  for (let row = p.changed; row != 0; row = p.changed) {
    const change = p.changeOf(row);
    const next = change.next();
    const isFreed = Head.of(row).refs == 0;
    const waited = isFreed && keeping();
    if ((waited || !isFreed) && change.bytes()) {
      const size = HEAD + Entry.of(row).size;
      if (at > out + 4 && at + <usize>size > end) break;
      forgetEntry(change, live, unit);
      at = saveEntry(p, row, numberOf(p, row), at);
      if (!isFreed) noteEntry(change, segment, live, size, unit);
    } else if (isFreed) forgetEntry(change, live, unit);
    change.word = 0;
    p.changed = next;
    // Queuing the entry for reuse may free its base, which is then the next entry in the chain.
    if (waited) p.queue(row);
  }
  store<u32>(out, <u32>(at - out - 4));
  return p.changed != 0;
}

/** Marks as changed the entries, from `number` on, whose newest record is in a segment. Returns the number to continue with, 0 = done. O(limit) */
export function record_collect_entries(entries: usize, segment: u32, number: u32, limit: u32): u32 {
  const p = changetype<Pool>(entries);
  for (; number <= p.high && limit > 0; limit--, number++) {
    const row = rowOf(p, number);
    if (p.changeOf(row).written == segment) p.noteChange(row, Head.of(row).refs != 0 ? BYTES : LINK);
  }
  return number <= p.high ? number : 0;
}

/**
 * Loads `bytes` bytes of records into their rows. `segment`: the segment that contains them, for a journal; else 0. Returns 0, CORRUPT, or OUT_OF_MEMORY.
 * O(bytes)
 */
export function record_load_entries(entries: usize, bytes: u32, from: usize, segment: u32, live: usize): i32 {
  const p = changetype<Pool>(entries);
  const packs = p.packed();
  const unit = unitOf(packs);
  const end = from + <usize>bytes;
  while (from < end) {
    if (from + HEAD > end) return fail(E_CORRUPT, 1, 0);
    const number = load<u32>(from);
    const base = load<u32>(from, 4);
    const size = load<u32>(from, 8) & SIZE;
    const depth = load<u32>(from, 8) >> DEPTH_BITS;
    if (number - 1 >= LINK_ROW || base > LINK_ROW || depth > DEPTH || size > packs.frame) return fail(E_CORRUPT, 1, number);
    if (from + HEAD + <usize>size > end) return fail(E_CORRUPT, 1, number);
    while (p.capacity < number) if (!growPool(p)) return E_OUT_OF_MEMORY;
    const row = rowOf(p, number);
    const head = Head.of(row);
    // If the entry was queued as freed, its head belongs to the queue.
    if ((head.refs & ~LOADED) != 0) return fail(E_CORRUPT, 1, number);
    if ((head.refs & LOADED) != 0) packs.drop(row);
    if (!packs.reserve(1)) return E_OUT_OF_MEMORY;
    if (segment != 0) {
      forgetEntry(p.changeOf(row), live, unit);
      noteEntry(p.changeOf(row), segment, live, HEAD + size, unit);
    }
    head.refs = LOADED;
    head.next = base;
    memory.copy(packs.place(row, size, depth), from + HEAD, size);
    packs.clean();
    from += <usize>(HEAD + size);
  }
  return 0;
}

/** Whether a row's entry, together with its base, makes exactly a frame. O(frame) */
function checkEntry(p: Pool, row: u32): bool {
  const packs = p.packed();
  const entry = Entry.of(row);
  const base = Head.of(row).next & LINK_ROW;
  if (entry.size == packs.frame) return base == 0 && entry.depth != 0;
  if (base == 0) return entry.depth == 0 && decodeBlock(packs.work, entry.bytes(), entry.size, Work.frame(packs.work, packs.frame), packs.frame);
  if (entry.depth == 0 || entry.depth >= CHAIN || (Head.of(base).refs & LOADED) == 0) return false;
  return packs.depthOf(base) + 1 == entry.depth && isPatch(entry.bytes(), entry.size, packs.frame);
}

/**
 * Holds an entry once more; the first hold also holds its base. Returns false if one of the two is missing or does not make a frame. Call this function
 * after the numbers of bases have become names. O(chain × frame)
 */
export function holdEntry(p: Pool, row: u32): bool {
  while (row != 0) {
    const head = Head.of(row);
    if ((head.refs & LOADED) == 0) return false;
    head.refs += 1;
    if ((head.refs & ~LOADED) != 1) return true;
    if (!checkEntry(p, row)) return false;
    row = head.next & LINK_ROW;
  }
  return true;
}

/** Drops a loaded entry that is not held. */
export function dropEntry(p: Pool, row: u32, live: usize): void {
  p.packed().drop(row);
  if (live != 0) forgetEntry(p.changeOf(row), live, unitOf(p.packed()));
}

function unitOf(packs: Packs): u32 {
  return packs.frame < LARGE_FRAME ? UNIT : LARGE_UNIT;
}

/** Notes the segment that contains a record of `bytes` bytes. `linked` stores the size of the record, because the link of an entry never changes. */
function noteEntry(change: Change, segment: u32, live: usize, bytes: u32, unit: u32): void {
  change.written = <u16>segment;
  change.linked = <u16>((bytes + unit - 1) / unit);
  account(live, segment, <u32>change.linked * unit);
}

function forgetEntry(change: Change, live: usize, unit: u32): void {
  if (change.written != 0) account(live, change.written, 0 - <u32>change.linked * unit);
  change.written = 0;
  change.linked = 0;
}

/** Writes a record, and returns the address of its end. */
function saveEntry(p: Pool, row: u32, number: u32, at: usize): usize {
  const entry = Entry.of(row);
  store<u32>(at, number);
  store<u32>(at, numberOf(p, Head.of(row).next & LINK_ROW), 4);
  store<u32>(at, entry.size | (entry.depth << DEPTH_BITS), 8);
  memory.copy(at + HEAD, entry.bytes(), entry.size);
  return at + HEAD + <usize>entry.size;
}
