/** Defines the limit on the bytes of steps with their frames: its line in a text, its value in a snapshot, and its counterpart in the core. */
import { arena_alloc } from "../memory/arena";
import { SHARED, WIDE } from "../rows/leaf";
import { entryBytes } from "../rows/packs";
import { HEAD_BYTES } from "../rows/row";
import { stored_bytes_bytes, stored_bytes_init } from "../tables/stored-bytes";
import { Field } from "./field";
import { poolCount, poolOf } from "./pools";
import { INVALID, noRoom, Refusal } from "./refusal";
import { Root, WORK } from "./root";
import { TableOptions, tableAt, tableNamed } from "./table-options";
import { find, Put, Tags } from "./tags";
import { TextReader } from "./text-reader";

/** Reads the line `stored MAXBYTES [evict TABLE]`. */
export function readStored(words: TextReader): i32 {
  const root = Root.the();
  const code = words.number("stored", f64.MIN_VALUE, f64.MAX_VALUE);
  root.storedMax = words.value;
  root.evictFrom = 0;
  if (code != 0 || !words.next()) return code;
  if (!words.is("evict")) return words.refused("the word after the limit", "evict");
  const table = tableNamed(words);
  if (table < 0) return table;
  root.evictFrom = <u32>table + 1;
  return words.done();
}

/** Reads the limit from a snapshot. `source`: the reader for the table's name. */
export function loadStored(tags: Tags, source: TextReader): i32 {
  const root = Root.the();
  const from = tags.at;
  if (find(tags, from, "max")) root.storedMax = tags.within(f64.MIN_VALUE, f64.MAX_VALUE);
  else tags.broken = 1;
  let code = 0;
  if (find(tags, from, "evictFrom")) {
    tags.name();
    source.word = tags.word;
    source.bytes = tags.bytes;
    code = tableAt(source);
    root.evictFrom = <u32>code + 1;
  }
  tags.at = from;
  tags.skip();
  return min(code, 0);
}

export function putStored(put: Put): void {
  const root = Root.the();
  put
    .object(1 + u32(root.evictFrom != 0))
    .text("max")
    .number(root.storedMax);
  if (root.evictFrom == 0) return;
  const table = TableOptions.of(root.evictFrom - 1);
  put.text("evictFrom").textAt(table.name, table.bytes);
}

/** Checks that one step fits, after the leaves are placed. Returns 0 or INVALID. */
export function checkStored(root: Root): i32 {
  const step = maxStepBytes(root);
  if (root.storedMax == 0 || root.storedMax >= step) return 0;
  const refusal = Refusal.of(INVALID).put("stored must be at least ").number(step).put(", the size of a step whose frames cannot be packed, got ");
  return refusal.number(root.storedMax).code;
}

/** Limits the pools, after the pools and the tables are made. Returns 0 or OUT_OF_MEMORY. */
export function makeStored(root: Root): i32 {
  if (root.storedMax == 0) return 0;
  const count = root.shares().count + 1;
  const limit = arena_alloc(stored_bytes_bytes(count));
  const pools = root.region(WORK, 4 * <u64>count);
  if (limit == 0 || pools == 0) return noRoom();
  // The pool of steps comes first, then the pools of frames, which include their entries.
  for (let i: u32 = 0; i < count; i++) store<u32>(pools + ((<usize>i) << 2), i == 0 ? root.pool : poolOf(poolCount() - count + i - 1));
  const table = root.evictFrom == 0 ? 0 : TableOptions.of(root.evictFrom - 1).handle;
  stored_bytes_init(limit, root.storedMax, maxStepBytes(root), table, pools, count);
  return 0;
}

/** Returns the maximum number of bytes of a step, which has new, incompressible frames for all of its leaves. */
function maxStepBytes(root: Root): f64 {
  let bytes = <f64>(HEAD_BYTES + root.rowBytes);
  for (let i: u32 = 0; i < root.fields().count; i++) {
    const field = Field.of(i);
    if (field.kind == WIDE) bytes += field.valueBytes;
    if (field.kind == SHARED) bytes += <f64>field.frames * <f64>frameRoom(field);
  }
  return bytes;
}

/** Returns the number of bytes of a frame with its head; for a packed frame also with the head of its entry. */
function frameRoom(field: Field): u32 {
  return field.ratio == 0 ? HEAD_BYTES + ((field.frameBytes() + 7) & ~7) : 2 * HEAD_BYTES + entryBytes(field.frameBytes());
}
