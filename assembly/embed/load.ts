/**
 * Restores a Replay from a snapshot in the format of src/storage/snapshot: makes the Replay from the options in the head, then loads the records. Everything is
 * checked before use.
 */
import { E_CORRUPT, E_OUT_OF_MEMORY, E_UNSUPPORTED } from "../memory/error";
import { pool_check, table_check } from "../persistence/check";
import { record_load_entries } from "../persistence/entry";
import { record_hold_frames, record_load_free, record_load_rows, record_name_rows, record_row_bytes } from "../persistence/row";
import { DRAWN, END, ENTRIES, FREE, HEAD, LAYOUTS, POOLS, ROWS, SECTION_BYTES, SLOTS, STREAMS, section_sum, TABLE, WRITERS } from "../persistence/section";
import { record_load_slots, record_slot_bytes } from "../persistence/slot";
import { record_load_stream } from "../persistence/stream";
import { record_drawn_bytes, record_load_drawn, record_load_table, record_table_bytes } from "../persistence/table";
import { stream_check } from "../rows/stream";
import { Table } from "../tables/table";
import { writer_set_number } from "../writer/dues";
import { made, make } from "./create";
import { isOfEntries, poolCount, poolOf } from "./pools";
import { Refusal } from "./refusal";
import { clean, outside, Root, vacant } from "./root";
import { COUNT_BYTES, POOL_BYTES, RUN_BYTES, reserveSave, SECTION_MAX, STREAM_BYTES, streamCount, streamOf } from "./save";
import { putLayout } from "./snapshot-head";
import { TableOptions } from "./table-options";
import { ARRAY, find, Put, Tags } from "./tags";
import { closeSaved, WriterOptions } from "./writer-options";

const MAGIC_BYTES: u32 = 8;
/** The maximum number of streams in one section. */
const STREAMS_EACH: u32 = SECTION_MAX / STREAM_BYTES;

/** SECTION, 16 bytes, then its payload: │ kind u32 │ id u32 │ bytes u32 │ crc u32 │ */
@unmanaged
class Section {
  kind: u32;
  id: u32;
  bytes: u32;
  crc: u32;

  @inline
  payload(): usize {
    return changetype<usize>(this) + SECTION_BYTES;
  }
}
if (offsetof<Section>() != SECTION_BYTES) ERROR("SECTION is 16 bytes");

/**
 * Restores the Replay of a snapshot, which must be in the input buffer as a whole. `text`: lines that are read after the options of the snapshot, such as `view`
 * or `bytes`; 0 for none. Returns the handle of the Replay, or 0 if the snapshot was refused, in which case no Replay exists.
 */
export function replay_load(snapshot: u32, bytes: u32, text: u32, textBytes: u32): u32 {
  const root = vacant();
  if (root === null) return 0;
  if (!root.holds(snapshot, bytes)) outside("the snapshot", snapshot, bytes);
  else if (textBytes != 0 && !root.holds(text, textBytes)) outside("the text", text, textBytes);
  else {
    clean();
    return made(root, loaded(root, snapshot, bytes, text, textBytes));
  }
  return 0;
}

function loaded(root: Root, snapshot: u32, bytes: u32, text: u32, textBytes: u32): i32 {
  let code = checkSections(snapshot, bytes);
  if (code != 0) return code;
  const first = snapshot + MAGIC_BYTES;
  const end = snapshot + bytes;
  const head = newest(first, end, HEAD, 0);
  const writers = newest(first, end, WRITERS, 0);
  if (head === null || writers === null) return corrupt("its header or its list of writers is missing");
  if (head.bytes == 0 || writers.bytes == 0) return corrupt("its header or its list of writers is empty");
  code = make(root, text, textBytes, head.payload(), head.bytes, writers.payload(), writers.bytes);
  if (code == 0) code = checkLayout(root, head);
  if (code == 0) code = takeSections(root, first, end);
  if (code == 0) code = takeStates(root, writers);
  // Only the snapshot's writers have saved streams, and the lines of the host may have defined more writers.
  const open = Tags.of(<u32>writers.payload(), writers.bytes).enter(ARRAY);
  if (code == 0) code = finish(root, first, end, streamCount(open));
  if (code == 0) code = checkAll(root);
  if (code == 0 && root.closes != 0) closeSaved();
  return code;
}

/** Checks that rows have the current layout: another version may lay rows out differently. Returns 0, or the code of a refusal. */
function checkLayout(root: Root, head: Section): i32 {
  const put = Put.begin();
  putLayout(put);
  if (put.failed != 0) return noRoom();
  const own = root.bytes();
  const tags = Tags.of(<u32>head.payload(), head.bytes);
  if (find(tags, tags.at, "layout") && own.count <= tags.end - tags.at && memory.compare(own.at, tags.at, own.count) == 0) return 0;
  return Refusal.of(E_UNSUPPORTED).put("the steps of the snapshot have the layout of another version of Reprise. Load it with the version that wrote it").code;
}

function corrupt(what: string): i32 {
  return Refusal.of(E_CORRUPT).put("the snapshot is damaged: ").put(what).code;
}

function withColumns(): i32 {
  return Refusal.of(E_UNSUPPORTED).put("the snapshot has items with columns. Load it in TypeScript").code;
}

function noRoom(): i32 {
  return Refusal.of(E_OUT_OF_MEMORY).put("there is no room for the Replay and its snapshot. Increase bytes in the text").code;
}

/** Checks that every section exists and has the right checksum. The last section contains the number of sections. Returns 0, or the code of a refusal. */
function checkSections(snapshot: u32, bytes: u32): i32 {
  if (bytes < MAGIC_BYTES || load<u32>(<usize>snapshot) != 0x52504552 || (load<u32>(<usize>snapshot, 4) & 0xffffff) != 0x455349)
    return corrupt("it does not begin with REPRISE1");
  if (load<u8>(<usize>snapshot, 7) != 49)
    return Refusal.of(E_UNSUPPORTED).put("the snapshot must begin with REPRISE1. Load it with the version of Reprise that wrote it").code;
  const end = snapshot + bytes;
  let count: u32 = 0;
  for (let at = snapshot + MAGIC_BYTES; at < end; count++) {
    const section = changetype<Section>(<usize>at);
    if (end - at < SECTION_BYTES || end - at - SECTION_BYTES < section.bytes) return corrupt("a section is incomplete");
    if (section_sum(at) != section.crc) return corrupt("the checksum of a section does not match");
    if (section.kind == LAYOUTS) return withColumns();
    at += SECTION_BYTES + section.bytes;
    if (section.kind != END) continue;
    if (at != end || section.bytes != 4 || load<u32>(section.payload()) != count) return corrupt("sections are missing, or data follows the end");
    return 0;
  }
  return corrupt("its end is missing");
}

/** Returns the last section with a kind and an id; null if there is none. */
function newest(at: u32, end: u32, kind: u32, id: u32): Section | null {
  let found: u32 = 0;
  while (at < end) {
    const section = changetype<Section>(<usize>at);
    if (section.kind == kind && section.id == id) found = at;
    at += SECTION_BYTES + section.bytes;
  }
  return found == 0 ? null : changetype<Section>(<usize>found);
}

/** Restores the state of writers that is neither in their options nor in their streams. Returns 0, or the code of a refusal. */
function takeStates(root: Root, writers: Section): i32 {
  const tags = Tags.of(<u32>writers.payload(), writers.bytes);
  const count = tags.enter(ARRAY);
  let code = 0;
  let some = false;
  for (let i: u32 = 0; i < count && code == 0 && tags.broken == 0; i++) {
    const from = tags.at;
    const handle = changetype<usize>(WriterOptions.of(i).writer());
    const numbers: u32 = find(tags, from, "state") ? tags.enter(ARRAY) : 0;
    some = some || numbers != 0;
    for (let n: u32 = 0; n < numbers && code == 0 && tags.broken == 0; n++) code = writer_set_number(handle, n, tags.number());
    tags.at = from;
    tags.skip();
  }
  if (code == E_OUT_OF_MEMORY || (code == 0 && some && !reserveSave(root))) return noRoom();
  return code == 0 && tags.broken == 0 ? 0 : corrupt("the state of a writer does not match its options");
}

/** Loads entries, rows, freed rows and slots. Returns 0, or the code of a refusal. */
function takeSections(root: Root, at: u32, end: u32): i32 {
  while (at < end) {
    const section = changetype<Section>(<usize>at);
    const code = take(root, section);
    if (code == E_UNSUPPORTED) return withColumns();
    if (code != 0) return code == E_OUT_OF_MEMORY ? noRoom() : corrupt("its records are inconsistent");
    at += SECTION_BYTES + section.bytes;
  }
  return 0;
}

function take(root: Root, section: Section): i32 {
  const kind = section.kind;
  if (kind != ENTRIES && kind != ROWS && kind != FREE && kind != SLOTS) return known(kind) ? 0 : E_CORRUPT;
  if (section.id >= (kind == SLOTS ? root.tables().count : poolCount()) || section.bytes < COUNT_BYTES) return E_CORRUPT;
  if (kind == ENTRIES) return takeEntries(section);
  if (kind == ROWS && isOfEntries(section.id)) return E_CORRUPT;
  const handle = kind == SLOTS ? TableOptions.of(section.id).handle : poolOf(section.id);
  const each = kind == SLOTS ? record_slot_bytes(handle) : kind == ROWS ? record_row_bytes(handle) : RUN_BYTES;
  const count = load<u32>(section.payload());
  if (<u64>section.bytes != COUNT_BYTES + <u64>count * <u64>each) return E_CORRUPT;
  const from = section.payload() + COUNT_BYTES;
  if (kind == ROWS) return record_load_rows(handle, count, from, 0, 0);
  if (kind == FREE) return record_load_free(handle, count, from);
  const code = record_load_slots(handle, count, from, 0, 0);
  return code == 0 && hasColumns(handle) ? E_UNSUPPORTED : code;
}

/** Whether an item of a table has a layout of its own columns, which embed.wasm does not support. */
function hasColumns(table: usize): bool {
  const slots = changetype<Table>(table).slots();
  for (let slot: u32 = 1; slots.layouts != 0 && slot <= slots.capacity; slot++) if (slots.columns(slot) != 0) return true;
  return false;
}

function takeEntries(section: Section): i32 {
  const bytes = load<u32>(section.payload());
  if (!isOfEntries(section.id) || section.bytes - COUNT_BYTES != bytes) return E_CORRUPT;
  return record_load_entries(poolOf(section.id), bytes, section.payload() + COUNT_BYTES, 0, 0);
}

function known(kind: u32): bool {
  return kind == HEAD || kind == WRITERS || kind == POOLS || kind == TABLE || kind == DRAWN || kind == STREAMS || kind == END;
}

/** Combines the loaded parts into one state, with `streams` open streams. Returns 0, or the code of a refusal. */
function finish(root: Root, first: u32, end: u32, streams: u32): i32 {
  let code = 0;
  const pools = newest(first, end, POOLS, 0);
  if (pools === null || pools.bytes != poolCount() * POOL_BYTES) return corrupt("the record of a pool is missing");
  for (let id: u32 = 0; code == 0 && id < poolCount(); id++) code = record_name_rows(poolOf(id), pools.payload() + <usize>(id * POOL_BYTES));
  // A section of streams exists even if there are no streams.
  for (let id: u32 = 0; code == 0 && (id == 0 || id < streams); id += STREAMS_EACH) code = takeStreams(first, end, id, min(STREAMS_EACH, streams - id));
  for (let id: u32 = 0; code == 0 && id < root.tables().count; id++) {
    const table = newest(first, end, TABLE, id);
    const drawn = newest(first, end, DRAWN, id);
    if (table === null || table.bytes != record_table_bytes()) return corrupt("the record of a table is missing");
    if (drawn === null || drawn.bytes != record_drawn_bytes()) return corrupt("the draw state of a table is missing");
    const handle = TableOptions.of(id).handle;
    code = record_load_drawn(handle, drawn.payload());
    if (code == 0) code = record_load_table(handle, table.payload());
  }
  // Steps hold frames, so frames are settled after steps.
  for (let id = poolCount(); code == 0 && id > 0; id--) code = record_hold_frames(poolOf(id - 1), 0);
  if (code == 0) return 0;
  return code == E_OUT_OF_MEMORY ? noRoom() : corrupt("records are missing, or refer to missing records");
}

function takeStreams(first: u32, end: u32, id: u32, count: u32): i32 {
  const section = newest(first, end, STREAMS, id);
  if (section === null || section.bytes != count * STREAM_BYTES) return E_CORRUPT;
  let code = 0;
  for (let i: u32 = 0; code == 0 && i < count; i++) code = record_load_stream(streamOf(id + i), section.payload() + <usize>(i * STREAM_BYTES));
  return code;
}

/** Checks every invariant of the state. Returns 0 or CORRUPT. O(state) */
function checkAll(root: Root): i32 {
  for (let id: u32 = 0; id < poolCount(); id++) if (pool_check(poolOf(id)) != 0) return corrupt("its rows are inconsistent");
  for (let id: u32 = 0; id < root.tables().count; id++) if (table_check(TableOptions.of(id).handle) != 0) return corrupt("a table is inconsistent");
  for (let i: u32 = 0; i < streamCount(root.writers().count); i++) if (stream_check(streamOf(i)) != 0) return corrupt("the steps of a writer are inconsistent");
  return 0;
}
