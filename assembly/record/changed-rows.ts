/**
 * Rows for a journal: records of those that were marked, and back. Rows are named by number, so that a record holds no address.
 *
 * A record: │ number u32 │ link u32 │ episode u32 │ bytes … │ wide values … │   names of frames are numbers too
 * A link alone: │ number u32 │ link u32 │
 */
import { Bytes } from "../memory/bytes";
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { BYTES, LINK, Mark } from "../rows/changes";
import { SHARED, WIDE } from "../rows/leaf";
import { growPool, numberOf, Pool, rowOf } from "../rows/pool";
import { Head, LINK_END, LINK_ROW, PLACE } from "../rows/row";
import { account } from "./live";
import { pool_record } from "./pool";

const NUMBER: u32 = 4;
const LINK_RECORD: u32 = 8;

/** Bytes of a row's record. */
export function journal_row_bytes(pool: usize): u32 {
  return NUMBER + pool_record(pool);
}

/**
 * O(most): takes up to `most` marked rows off the chain: records of those that changed to `out` + 16, of changed links to `links`. Writes how many records,
 * how many links, and whether rows are left (u32 each) to `out`. What was freed since is only forgotten.
 */
export function journal_rows(pool: usize, segment: u32, live: usize, most: u32, out: usize, links: usize): void {
  const p = changetype<Pool>(pool);
  const bytes = journal_row_bytes(pool);
  let records: u32 = 0;
  let linked: u32 = 0;
  let row = p.marked();
  let at = out + 16;
  for (; row != 0 && most > 0; most--) {
    const mark = p.mark(row);
    const next = mark.next();
    if (Head.of(row).refs == 0) forget(mark, live, bytes);
    else if (mark.bytes()) {
      forget(mark, live, bytes);
      saveRow(p, row, at);
      mark.written = <u16>segment;
      account(live, segment, bytes);
      at += bytes;
      records += 1;
    } else {
      if (mark.linked != 0) account(live, mark.linked, 0 - LINK_RECORD);
      mark.linked = <u16>segment;
      account(live, segment, LINK_RECORD);
      store<u32>(links, numberOf(p, row));
      store<u32>(links, linkOf(p, row), 4);
      links += LINK_RECORD;
      linked += 1;
    }
    mark.word = 0;
    row = next;
  }
  p.setMarked(row);
  store<u32>(out, records);
  store<u32>(out, linked, 4);
  store<u32>(out, u32(row != 0), 8);
}

/** O(most): marks the rows whose newest record or link is in a segment, from `number` on. The number to go on with, 0 = done. */
export function journal_collect_rows(pool: usize, segment: u32, number: u32, most: u32): u32 {
  const p = changetype<Pool>(pool);
  for (; number <= p.high && most > 0; most--, number++) {
    const row = rowOf(p, number);
    const mark = p.mark(row);
    // What is not held any more, and was let go by another module, is only forgotten.
    if (mark.written == segment || mark.linked == segment) p.touch(row, Head.of(row).refs != 0 ? BYTES : LINK);
  }
  return number <= p.high ? number : 0;
}

/** O(bytes): puts records in their places, in the order in which they were written; links and frames stay numbers. 0, CORRUPT, or OUT_OF_MEMORY. */
export function journal_load_rows(pool: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const p = changetype<Pool>(pool);
  const bytes = journal_row_bytes(pool);
  let base: u32 = 0;
  let first: u32 = 0;
  for (; count > 0; count--, from += bytes) {
    const number = load<u32>(from);
    if (number - 1 >= LINK_ROW) return fail(E_CORRUPT, 1, number);
    while (p.capacity < number) if (!growPool(p)) return E_OUT_OF_MEMORY;
    // Most records are of neighbours: a division less.
    if (base == 0 || number - first >= p.rows) {
      base = rowOf(p, number) & ~PLACE;
      first = number - (rowOf(p, number) & PLACE);
    }
    const row = base + (number - first);
    const mark = p.mark(row);
    forget(mark, live, bytes);
    mark.written = <u16>segment;
    account(live, segment, bytes);
    Head.of(row).next = load<u32>(from, 4);
    Head.of(row).episode = load<u32>(from, 8);
    Bytes.copy(p.bytes(row), from + 12, p.rowBytes);
    copyWide(p, row, from + 12 + <usize>p.rowBytes, false);
  }
  return 0;
}

export function journal_load_links(pool: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const p = changetype<Pool>(pool);
  for (; count > 0; count--, from += LINK_RECORD) {
    const number = load<u32>(from);
    if (number - 1 >= LINK_ROW) return fail(E_CORRUPT, 1, number);
    // A row that is not held any more may have lost its record with a segment that was given back.
    const row = rowOf(p, number);
    if (row == 0) continue;
    const mark = p.mark(row);
    if (mark.written == 0) continue;
    if (mark.linked != 0) account(live, mark.linked, 0 - LINK_RECORD);
    mark.linked = <u16>segment;
    account(live, segment, LINK_RECORD);
    Head.of(row).next = load<u32>(from, 4);
  }
  return 0;
}

/** Rows ever used, and the last episode number; then, once all records are there, links and frames become names. 0, CORRUPT, or OUT_OF_MEMORY. */
export function journal_name_rows(pool: usize, high: u32, episodes: u32): i32 {
  const p = changetype<Pool>(pool);
  while (p.capacity < high) if (!growPool(p)) return E_OUT_OF_MEMORY;
  p.high = high;
  p.fresh = rowOf(p, high + 1);
  p.episodes = episodes;
  for (let block: u32 = 0, number: u32 = 1; block < p.blocks; block++) {
    const first = rowOf(p, number);
    for (let row = first; row < first + p.rows; row++, number++) {
      const head = Head.of(row);
      if (p.mark(row).written == 0) continue;
      const next = head.next & LINK_ROW;
      if (number > high || next > high) return fail(E_CORRUPT, 1, number);
      const neighbour = next == number + 1 && row + 1 < first + p.rows;
      head.next = (neighbour ? row + 1 : rowOf(p, next)) | (head.next & LINK_END);
      if (p.shares != 0 && !nameFrames(p, row, p.bytes(row), false)) return fail(E_CORRUPT, 1, number);
    }
  }
  return 0;
}

/** Once streams and tables hold their rows: rows hold their frames, and what nothing holds is free. Steps first, then frames. 0, or CORRUPT. */
export function journal_settle_rows(pool: usize, live: usize): i32 {
  const p = changetype<Pool>(pool);
  const bytes = journal_row_bytes(pool);
  for (let block: u32 = 0, number: u32 = 1; block < p.blocks; block++) {
    const first = rowOf(p, number);
    for (let row = first; row < first + p.rows && number <= p.high; row++, number++) {
      const mark = p.mark(row);
      if (Head.of(row).refs == 0) {
        forget(mark, live, bytes);
        p.free().push(row);
      } else {
        if (mark.written == 0) return fail(E_CORRUPT, 1, number);
        if (p.shares != 0) holdFrames(p, row);
      }
    }
  }
  return 0;
}

function linkOf(p: Pool, row: u32): u32 {
  const link = Head.of(row).next;
  return numberOf(p, link & LINK_ROW) | (link & LINK_END);
}

function forget(mark: Mark, live: usize, bytes: u32): void {
  if (mark.written != 0) account(live, mark.written, 0 - bytes);
  if (mark.linked != 0) account(live, mark.linked, 0 - LINK_RECORD);
  mark.written = 0;
  mark.linked = 0;
}

function saveRow(p: Pool, row: u32, at: usize): void {
  store<u32>(at, numberOf(p, row));
  store<u32>(at, linkOf(p, row), 4);
  store<u32>(at, p.episode(row), 8);
  Bytes.copy(at + 12, p.bytes(row), p.rowBytes);
  if (p.shares != 0) nameFrames(p, row, at + 12, true);
  copyWide(p, row, at + 12 + <usize>p.rowBytes, true);
}

function copyWide(p: Pool, row: u32, at: usize, saving: bool): void {
  for (let i: u32 = 0; p.apart != 0 && i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != WIDE) continue;
    const here = p.value(row, leaf);
    memory.copy(saving ? at : here, saving ? here : at, leaf.bytes);
    at += leaf.bytes;
  }
}

/** Numbers for the names of a row's frames in its bytes or in a copy of them (`saving`), or back; false where there is no such frame. */
function nameFrames(p: Pool, row: u32, bytes: usize, saving: bool): bool {
  const moved = bytes - p.bytes(row);
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    const frames = changetype<Pool>(<usize>leaf.pool);
    const names = p.value(row, leaf) + moved;
    for (let f: u32 = 0; f < leaf.frames; f++) {
      const name = load<u32>(names + ((<usize>f) << 2));
      if (!saving && name > frames.capacity) return false;
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
