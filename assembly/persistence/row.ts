/**
 * Saves and loads rows as records: all of them by number, or the changed ones. Rows are identified by number, so records contain no addresses.
 *
 * ROW:  │ number u32 │ link u32 │ episode u32 │ bytes … │ wide values … │   names of frames are also numbers; for a packed frame, `episode` is the number of its entry
 * LINK: │ number u32 │ link u32 │   for a row whose successor or end was added after its record
 * FREE: │ number u32 │ rows u32 │   a run of freed rows, in the order in which the rows are reused
 *
 * The payload of a section: │ count u32 │ records … │
 *
 * Loading first puts records in place in the order in which they were written, while links and frames remain numbers. Then numbers become names, streams and
 * tables hold their rows, and rows that are not held are freed. Until then, two bits of `refs` contain the state of a row.
 */
import { Bytes } from "../memory/bytes";
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { BYTES, keeping, LINK } from "../rows/changes";
import { ENTRY, SHARED, WIDE } from "../rows/leaf";
import { entriesOf, growPool, numberOf, Pool, rowOf } from "../rows/pool";
import { Head, LINK_ENDS, LINK_ROW } from "../rows/row";
import { dropEntry, holdEntry } from "./entry";
import { account, FREED, forget, LINK_BYTES, LOADED, noteLink, noteRecord } from "./record";

const HEAD: u32 = 12;
const RUN_BYTES: u32 = 8;

/** Returns the number of bytes of a row's record; for an entry, the maximum number. */
export function record_row_bytes(pool: usize): u32 {
  const p = changetype<Pool>(pool);
  let bytes = HEAD + p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) bytes += p.leaf(i).kind == WIDE || p.leaf(i).kind == ENTRY ? p.leaf(i).bytes : 0;
  return bytes;
}

/** Writes the record of a pool: the number of rows ever used, and the last episode number (u32 each). */
export function record_pool(pool: usize, out: usize): void {
  const p = changetype<Pool>(pool);
  store<u32>(out, p.high);
  store<u32>(out, p.episodes, 4);
}

/** Saves up to `limit` held rows, from `number` on. Returns the number to continue with, 0 = done. O(limit) */
export function record_rows(pool: usize, number: u32, limit: u32, out: usize): u32 {
  const p = changetype<Pool>(pool);
  let count: u32 = 0;
  let row: u32 = 0;
  let at = out + 4;
  for (; number <= p.high && count < limit; number++) {
    row = p.rowNear(row, number - 1, number);
    if (Head.of(row).refs == 0) continue;
    at = saveRow(p, row, number, at);
    count += 1;
  }
  store<u32>(out, count);
  return number <= p.high ? number : 0;
}

/**
 * Removes up to `limit` rows from the chain of changes. Saves rows of which more than the link has changed to `out`, and only the links of the other rows to
 * `links`. The records of a row that was freed in the meantime become invalid. If freed rows wait for the journal (`keeping`), such a row is also saved, if it
 * has an unsaved change, and queued for reuse. Returns whether there are more. O(limit)
 */
export function record_changed_rows(pool: usize, segment: u32, live: usize, limit: u32, out: usize, links: usize): bool {
  const p = changetype<Pool>(pool);
  const bytes = record_row_bytes(pool);
  const keeps = keeping();
  let row = p.changed;
  let at = out + 4;
  let link = links + 4;
  let saved: u32 = 0;
  for (; row != 0 && limit > 0; limit--) {
    const change = p.changeOf(row);
    const next = change.next();
    const isSaved = change.bytes();
    change.word = 0;
    if (Head.of(row).refs != 0) {
      if (isSaved) {
        noteRecord(change, segment, live, bytes);
        saved += bytes;
        at = saveRow(p, row, numberOf(p, row), at);
      } else {
        noteLink(change, segment, live);
        link = saveLink(p, row, link);
      }
    } else {
      forget(change, live, bytes);
      if (keeps) {
        // For a row that is not held, the end of its episode is the only change.
        if (isSaved) at = saveRow(p, row, numberOf(p, row), at);
        else if ((Head.of(row).next & LINK_ENDS) != 0) link = saveLink(p, row, link);
        p.queue(row);
      }
    }
    row = next;
  }
  account(live, segment, saved);
  p.changed = row;
  store<u32>(out, <u32>(at - out - 4) / bytes);
  store<u32>(links, <u32>(link - links - 4) / LINK_BYTES);
  return row != 0;
}

/** Marks as changed the rows, from `number` on, whose newest record or link is in a segment. Returns the number to continue with, 0 = done. O(limit) */
export function record_collect_rows(pool: usize, segment: u32, number: u32, limit: u32): u32 {
  const p = changetype<Pool>(pool);
  for (; number <= p.high && limit > 0; limit--, number++) {
    const row = rowOf(p, number);
    const change = p.changeOf(row);
    // The record of a row that is no longer held only needs to be invalidated.
    if (change.written == segment || change.linked == segment) p.noteChange(row, Head.of(row).refs != 0 ? BYTES : LINK);
  }
  return number <= p.high ? number : 0;
}

/** Saves runs of freed rows from the run of row `cursor` on (0: the first), up to `limit`. Returns the run to continue with, 0 = done. */
export function record_free_rows(pool: usize, cursor: u32, limit: u32, out: usize): u32 {
  const p = changetype<Pool>(pool);
  const free = p.free();
  let run = cursor == 0 ? free.first : cursor;
  let count: u32 = 0;
  for (let at = out + 4; run != 0 && count < limit; at += RUN_BYTES) {
    store<u32>(at, numberOf(p, run));
    store<u32>(at, free.endOf(run) + 1 - run, 4);
    run = free.after(run);
    count += 1;
  }
  store<u32>(out, count);
  return run;
}

/** Loads records into their rows. `segment`: the segment that contains them, for a journal; else 0. Returns 0, CORRUPT, or OUT_OF_MEMORY. O(bytes) */
export function record_load_rows(pool: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const p = changetype<Pool>(pool);
  const bytes = record_row_bytes(pool);
  let last: u32 = 0;
  let row: u32 = 0;
  if (segment != 0) account(live, segment, count * bytes);
  for (; count > 0; count--, from += bytes) {
    const number = load<u32>(from);
    if (number - 1 >= LINK_ROW) return fail(E_CORRUPT, 1, number);
    while (p.capacity < number) if (!growPool(p)) return E_OUT_OF_MEMORY;
    row = p.rowNear(row, last, number);
    last = number;
    if (segment != 0) noteRecord(p.changeOf(row), segment, live, bytes);
    const head = Head.of(row);
    head.refs = LOADED;
    head.next = load<u32>(from, 4);
    head.episode = load<u32>(from, 8);
    Bytes.copy(p.bytes(row), from + HEAD, p.rowBytes);
    copyWide(p, row, from + HEAD + <usize>p.rowBytes, false);
  }
  return 0;
}

/** Loads links into their rows. Returns 0 or CORRUPT. */
export function record_load_links(pool: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const p = changetype<Pool>(pool);
  for (; count > 0; count--, from += LINK_BYTES) {
    const number = load<u32>(from);
    if (number - 1 >= LINK_ROW) return fail(E_CORRUPT, 1, number);
    // A row that is no longer held may have lost its record with a released segment.
    const row = rowOf(p, number);
    if (row == 0 || (Head.of(row).refs & LOADED) == 0) continue;
    if (segment != 0) noteLink(p.changeOf(row), segment, live);
    Head.of(row).next = load<u32>(from, 4);
  }
  return 0;
}

/** Queues runs of rows as freed. Returns 0, CORRUPT, or OUT_OF_MEMORY. O(rows) */
export function record_load_free(pool: usize, count: u32, from: usize): i32 {
  const p = changetype<Pool>(pool);
  for (; count > 0; count--, from += RUN_BYTES) {
    let number = load<u32>(from);
    const end = <u64>number + load<u32>(from, 4);
    if (number == 0 || end > LINK_ROW) return fail(E_CORRUPT, 1, number);
    while (<u64>p.capacity + 1 < end) if (!growPool(p)) return E_OUT_OF_MEMORY;
    for (; number < <u32>end; number++) {
      const row = rowOf(p, number);
      if (Head.of(row).refs != 0) return fail(E_CORRUPT, 1, number);
      Head.of(row).refs = FREED;
      p.free().push(row);
    }
  }
  return 0;
}

/**
 * Converts links, frames and entries to names after all records are loaded. Call this function for pools of entries first, then for pools of frames, then for
 * the pool of steps. `numbers`: the result of `record_pool`. Returns 0, CORRUPT, or OUT_OF_MEMORY. O(rows)
 */
export function record_name_rows(pool: usize, numbers: usize): i32 {
  const p = changetype<Pool>(pool);
  const high = load<u32>(numbers);
  while (p.capacity < high) if (!growPool(p)) return E_OUT_OF_MEMORY;
  p.high = high;
  p.fresh = rowOf(p, high + 1);
  p.episodes = load<u32>(numbers, 4);
  let row: u32 = 0;
  for (let number: u32 = 1; number <= p.capacity; number++) {
    row = p.rowNear(row, number - 1, number);
    const head = Head.of(row);
    if ((head.refs & LOADED) == 0) continue;
    const next = head.next & LINK_ROW;
    if (number > high || next > high) return fail(E_CORRUPT, 1, number);
    const after = p.rowNear(row, number, next);
    head.next = after | (head.next & LINK_ENDS);
    if (after != 0 && after != row + 1) p.noteJump(row);
    if (p.shares() && !nameFrames(p, row, p.bytes(row), false)) return fail(E_CORRUPT, 1, number);
    if (p.packs() && !nameEntry(p, head)) return fail(E_CORRUPT, 1, number);
  }
  return 0;
}

/** Converts the number of a frame's entry to its name; false if the entry does not exist. */
function nameEntry(p: Pool, head: Head): bool {
  const entries = entriesOf(p.packed());
  const number = head.episode;
  head.episode = number > entries.high ? 0 : rowOf(entries, number);
  return head.episode != 0;
}

/**
 * Lets rows hold their frames after streams and tables hold their rows, and frees all rows that are not held. Call this function for the pool of steps
 * first, then for pools of frames, then for pools of entries. Returns 0 or CORRUPT. O(rows)
 */
export function record_hold_frames(pool: usize, live: usize): i32 {
  const p = changetype<Pool>(pool);
  const bytes = record_row_bytes(pool);
  let free: u32 = 0;
  let row: u32 = 0;
  for (let number: u32 = 1; number <= p.high; number++) {
    row = p.rowNear(row, number - 1, number);
    const head = Head.of(row);
    const held = head.refs & ~(LOADED | FREED);
    const loaded = (head.refs & LOADED) != 0;
    if (held != 0) {
      if (!loaded) return fail(E_CORRUPT, 1, number);
      head.refs = held;
      if (p.shares()) holdFrames(p, row);
      else if (p.packs() && !holdEntry(entriesOf(p.packed()), head.episode)) return fail(E_CORRUPT, 1, number);
      continue;
    }
    free += 1;
    const queued = head.refs == FREED;
    head.refs = 0;
    if (queued) continue;
    if (loaded && p.hasEntries()) dropEntry(p, row, live);
    else if (loaded && live != 0) forget(p.changeOf(row), live, bytes);
    p.free().push(row);
  }
  return free == p.free().count ? 0 : fail(E_CORRUPT, 1, free);
}

function linkOf(p: Pool, row: u32, number: u32): u32 {
  const link = Head.of(row).next;
  const next = link & LINK_ROW;
  return (next == row + 1 ? number + 1 : numberOf(p, next)) | (link & LINK_ENDS);
}

/** Writes a link. Returns the address at which the next record begins, like `saveRow`. */
function saveLink(p: Pool, row: u32, at: usize): usize {
  const number = numberOf(p, row);
  store<u32>(at, number);
  store<u32>(at, linkOf(p, row, number), 4);
  return at + LINK_BYTES;
}

function saveRow(p: Pool, row: u32, number: u32, at: usize): usize {
  store<u32>(at, number);
  store<u32>(at, linkOf(p, row, number), 4);
  store<u32>(at, p.packs() ? numberOf(entriesOf(p.packed()), p.episode(row)) : p.episode(row), 8);
  Bytes.copy(at + HEAD, p.bytes(row), p.rowBytes);
  if (p.shares()) nameFrames(p, row, at + HEAD, true);
  return copyWide(p, row, at + HEAD + <usize>p.rowBytes, true);
}

function copyWide(p: Pool, row: u32, at: usize, saving: bool): usize {
  for (let i: u32 = 0; p.hasSeparateLeaves() && i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != WIDE) continue;
    const here = p.value(row, leaf);
    memory.copy(saving ? at : here, saving ? here : at, leaf.bytes);
    at += leaf.bytes;
  }
  return at;
}

/** Converts the names of a row's frames to numbers in a copy of its bytes (`saving`), or back in its bytes. Returns false if a frame does not exist. */
function nameFrames(p: Pool, row: u32, bytes: usize, saving: bool): bool {
  const moved = bytes - p.bytes(row);
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    const frames = changetype<Pool>(<usize>leaf.pool);
    const names = p.value(row, leaf) + moved;
    for (let f: u32 = 0; f < leaf.frames; f++) {
      const name = load<u32>(names + ((<usize>f) << 2));
      if (!saving && name > frames.high) return false;
      store<u32>(names + ((<usize>f) << 2), saving ? numberOf(frames, name) : rowOf(frames, name));
    }
  }
  return true;
}

function holdFrames(p: Pool, row: u32): void {
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    const frames = changetype<Pool>(<usize>leaf.pool);
    for (let f: u32 = 0; f < leaf.frames; f++) {
      const frame = load<u32>(p.value(row, leaf) + ((<usize>f) << 2));
      if (frame != 0) frames.retain(frame);
    }
  }
}
