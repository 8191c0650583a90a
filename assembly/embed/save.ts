/**
 * Saves a snapshot chunk by chunk, in the format of src/storage/snapshot: "REPRISE1", then sections with the same records.
 *
 * SAVING, 32 bytes: │ stage u32 │ id u32 │ cursor u32 │ sections u32 │ changes u32 │ handle u32 │ chunk u32 │ bytes u32 │
 *   the next section: its kind, its pool or table, its first record · sections so far · the root's `changes` at the beginning · the Replay · the chunk that is returned
 */
import { E_OUT_OF_MEMORY } from "../memory/error";
import { record_entries } from "../persistence/entry";
import { record_free_rows, record_pool, record_row_bytes, record_rows } from "../persistence/row";
import { DRAWN, END, ENTRIES, FREE, HEAD, POOLS, ROWS, SECTION_BYTES, SLOTS, STREAMS, section_seal, TABLE, WRITERS } from "../persistence/section";
import { record_slot_bytes, record_slots } from "../persistence/slot";
import { record_stream } from "../persistence/stream";
import { record_drawn, record_drawn_bytes, record_table, record_table_bytes } from "../persistence/table";
import { isOfEntries, poolCount, poolOf } from "./pools";
import { OUT_OF_TURN, Refusal } from "./refusal";
import { opened, Root, WORK } from "./root";
import { putHead, putWriters } from "./snapshot-head";
import { TableOptions } from "./table-options";
import { Put } from "./tags";
import { WriterOptions } from "./writer-options";

const SAVING_AT: usize = memory.data(32, 8);
/** The maximum number of bytes of a section of records, unless one record is larger. */
export const SECTION_MAX: u32 = 65536;
/** The number of bytes of the count that precedes records. */
export const COUNT_BYTES: u32 = 4;
/** The number of bytes of a pool's record. */
export const POOL_BYTES: u32 = 8;
/** The number of bytes of a stream's record. */
export const STREAM_BYTES: u32 = 24;
/** The number of bytes of the record of a run of freed rows. */
export const RUN_BYTES: u32 = 8;

/** The stages of a snapshot, in order. OF_ROWS and OF_FREE alternate from pool to pool. */
const BEGIN: u32 = 0;
const OF_HEAD: u32 = 1;
const OF_WRITERS: u32 = 2;
const OF_ROWS: u32 = 3;
const OF_FREE: u32 = 4;
const OF_SLOTS: u32 = 5;
const OF_POOLS: u32 = 6;
const OF_TABLES: u32 = 7;
const OF_DRAWN: u32 = 8;
const OF_STREAMS: u32 = 9;
const OF_END: u32 = 10;
const DONE: u32 = 11;

@unmanaged
class Saving {
  stage: u32;
  id: u32;
  cursor: u32;
  sections: u32;
  changes: u32;
  handle: u32;
  chunk: u32;
  bytes: u32;

  /** Moves to another stage. */
  go(stage: u32, cursor: u32): void {
    this.stage = stage;
    this.id = 0;
    this.cursor = cursor;
  }
}
if (offsetof<Saving>() != 32) ERROR("SAVING is 32 bytes");

/**
 * Returns the next chunk of a snapshot, as the address of │ at u32 │ bytes u32 │, with 0 bytes after the last one. `first`: 1 begins a snapshot. The chunk is
 * valid until the next call; nothing may change before all chunks are read. Returns 0 if the call is refused.
 */
export function replay_save(handle: u32, first: u32): u32 {
  const root = opened(handle);
  if (root === null) return 0;
  const s = changetype<Saving>(SAVING_AT);
  if (first != 0) {
    memory.fill(SAVING_AT, 0, offsetof<Saving>());
    s.handle = handle;
    s.changes = root.changes;
  } else if (s.handle != handle || s.changes != root.changes) {
    Refusal.of(OUT_OF_TURN).put(
      "first must be 1 to begin a snapshot, because the Replay has changed or no snapshot has begun. Read all chunks before you change the Replay",
    );
    return 0;
  }
  s.bytes = 0;
  while (s.bytes == 0 && s.stage != DONE) if (!step(root, s)) return noRoomToSave();
  return <u32>(SAVING_AT + offsetof<Saving>("chunk"));
}

/** Reserves the memory that a snapshot needs, because later there may not be enough. Returns whether there is enough now. */
export function reserveSave(root: Root): bool {
  const put = Put.begin();
  for (let i: u32 = 0; i < SECTION_BYTES; i++) put.byte(0);
  // Both values are written one after the other, which reserves enough room for each of them.
  putHead(put);
  putWriters(put);
  let bytes = SECTION_MAX;
  for (let id: u32 = 0; id < poolCount(); id++) bytes = max(bytes, roomFor(id));
  return put.failed == 0 && root.region(WORK, <u64>SECTION_BYTES + bytes) != 0;
}

function noRoomToSave(): u32 {
  Refusal.of(E_OUT_OF_MEMORY).put("there is no room for a chunk of a snapshot. Increase bytes");
  return 0;
}

/** Writes one section, or moves to the next stage; false if there is no memory. */
function step(root: Root, s: Saving): bool {
  switch (s.stage) {
    case BEGIN:
      return begin(root, s);
    case OF_HEAD:
    case OF_WRITERS:
      return putSection(root, s);
    case OF_ROWS:
    case OF_FREE:
    case OF_SLOTS:
      return records(root, s);
    case OF_POOLS:
      return pools(root, s);
    case OF_TABLES:
    case OF_DRAWN:
      return table(root, s);
    case OF_STREAMS:
      return streams(root, s);
    default:
      return end(root, s);
  }
}

function begin(root: Root, s: Saving): bool {
  const put = Put.begin().raw("REPRISE1");
  s.chunk = root.bytes().at;
  s.bytes = root.bytes().count;
  s.go(OF_HEAD, 0);
  return put.failed == 0;
}

/** Writes HEAD or WRITERS: a value, with room for the section's head before it. */
function putSection(root: Root, s: Saving): bool {
  const put = Put.begin();
  for (let i: u32 = 0; i < SECTION_BYTES; i++) put.byte(0);
  const isHead = s.stage == OF_HEAD;
  if (isHead) putHead(put);
  else putWriters(put);
  if (put.failed != 0) return false;
  seal(s, root.bytes().at, isHead ? HEAD : WRITERS, 0, root.bytes().count - SECTION_BYTES);
  s.go(isHead ? OF_WRITERS : OF_ROWS, 1);
  return true;
}

/** Writes rows or entries, and freed rows, of each pool, then slots of each table. */
function records(root: Root, s: Saving): bool {
  const ofTable = s.stage == OF_SLOTS;
  if (s.id == (ofTable ? root.tables().count : poolCount())) {
    s.go(s.stage + 1, 1);
    return true;
  }
  if (s.stage == OF_ROWS && isOfEntries(s.id)) return entries(root, s);
  const handle = ofTable ? TableOptions.of(s.id).handle : poolOf(s.id);
  const bytes = ofTable ? record_slot_bytes(handle) : s.stage == OF_ROWS ? record_row_bytes(handle) : RUN_BYTES;
  const most = max((SECTION_MAX - COUNT_BYTES) / max(bytes, 8), 1);
  const at = root.region(WORK, <u64>SECTION_BYTES + COUNT_BYTES + <u64>most * <u64>bytes);
  if (at == 0) return false;
  const out = at + SECTION_BYTES;
  if (ofTable) s.cursor = record_slots(handle, s.cursor, most, out);
  else s.cursor = s.stage == OF_ROWS ? record_rows(handle, s.cursor, most, out) : record_free_rows(handle, s.cursor, most, out);
  const count = load<u32>(out);
  if (count != 0) seal(s, <u32>at, ofTable ? SLOTS : s.stage == OF_ROWS ? ROWS : FREE, s.id, COUNT_BYTES + count * bytes);
  if (s.cursor == 0) next(s);
  return true;
}

/** Writes entries of packed frames instead of rows, as many as fit, because entries differ in size. */
function entries(root: Root, s: Saving): bool {
  const room = roomFor(s.id);
  const at = root.region(WORK, SECTION_BYTES + room);
  if (at == 0) return false;
  s.cursor = record_entries(poolOf(s.id), s.cursor, room, at + SECTION_BYTES);
  const bytes = load<u32>(at + SECTION_BYTES);
  if (bytes != 0) seal(s, <u32>at, ENTRIES, s.id, COUNT_BYTES + bytes);
  if (s.cursor == 0) next(s);
  return true;
}

/** Returns the number of bytes to reserve for a section's payload: SECTION_MAX, or more if a single record of the pool needs more. */
function roomFor(id: u32): u32 {
  return max(SECTION_MAX, COUNT_BYTES + record_row_bytes(poolOf(id)));
}

/** Advances after the last record of a pool or table: from the rows of a pool to its freed rows, then to the next pool; or to the next table. */
function next(s: Saving): void {
  if (s.stage == OF_ROWS) {
    s.stage = OF_FREE;
    s.cursor = 0;
    return;
  }
  if (s.stage == OF_FREE) {
    s.id += 1;
    if (s.id == poolCount()) s.go(OF_SLOTS, 1);
    else {
      s.stage = OF_ROWS;
      s.cursor = 1;
    }
    return;
  }
  s.id += 1;
  s.cursor = 1;
}

function pools(root: Root, s: Saving): bool {
  const bytes = poolCount() * POOL_BYTES;
  const at = root.region(WORK, SECTION_BYTES + bytes);
  if (at == 0) return false;
  for (let id: u32 = 0; id < poolCount(); id++) record_pool(poolOf(id), at + <usize>(SECTION_BYTES + id * POOL_BYTES));
  seal(s, <u32>at, POOLS, 0, bytes);
  s.go(OF_TABLES, 0);
  return true;
}

/** Writes the numbers of each table, then the numbers that draws change. */
function table(root: Root, s: Saving): bool {
  if (s.id == root.tables().count) {
    s.go(s.stage + 1, 0);
    return true;
  }
  const ofDraws = s.stage == OF_DRAWN;
  const bytes = ofDraws ? record_drawn_bytes() : record_table_bytes();
  const at = root.region(WORK, SECTION_BYTES + bytes);
  if (at == 0) return false;
  const handle = TableOptions.of(s.id).handle;
  if (ofDraws) record_drawn(handle, at + SECTION_BYTES);
  else record_table(handle, at + SECTION_BYTES);
  seal(s, <u32>at, ofDraws ? DRAWN : TABLE, s.id, bytes);
  s.id += 1;
  return true;
}

/** Writes the streams of all writers in order, several per section. */
function streams(root: Root, s: Saving): bool {
  const all = streamCount(root.writers().count);
  const count = min(SECTION_MAX / STREAM_BYTES, all - s.id);
  const at = root.region(WORK, SECTION_BYTES + count * STREAM_BYTES);
  if (at == 0) return false;
  for (let i: u32 = 0; i < count; i++) record_stream(streamOf(s.id + i), at + <usize>(SECTION_BYTES + i * STREAM_BYTES));
  seal(s, <u32>at, STREAMS, s.id, count * STREAM_BYTES);
  s.id += count;
  if (s.id == all) s.go(OF_END, 0);
  return true;
}

function end(root: Root, s: Saving): bool {
  const at = root.region(WORK, SECTION_BYTES + 4);
  if (at == 0) return false;
  store<u32>(at + SECTION_BYTES, s.sections);
  seal(s, <u32>at, END, 0, 4);
  s.go(DONE, 0);
  return true;
}

function seal(s: Saving, at: u32, kind: u32, id: u32, bytes: u32): void {
  section_seal(at, kind, id, bytes);
  s.chunk = at;
  s.bytes = SECTION_BYTES + bytes;
  s.sections += 1;
}

/** Returns the number of lanes of the first `writers` writers. */
export function streamCount(writers: u32): u32 {
  let count: u32 = 0;
  for (let i: u32 = 0; i < writers; i++) count += WriterOptions.of(i).lanes;
  return count;
}

/** Returns the stream of the i-th lane, counted over all writers. */
export function streamOf(i: u32): usize {
  let k: u32 = 0;
  for (; i >= WriterOptions.of(k).lanes; k++) i -= WriterOptions.of(k).lanes;
  return changetype<usize>(WriterOptions.of(k).writer().stream(i));
}
