/**
 * A table as the text has it.
 *
 * SHELF, 96 bytes:
 *    0 │ name u32    │ bytes u32    │
 *    8 │ handle u32  │ tableBytes u32 │  TABLE (tables/table.ts), once it is made
 *   16 │ maxSize u32 │ maxPending u32 │
 *   24 │ sampler u32 │ remover u32  │  numbers of the selectors, with WITH_MIN
 *   32 │ maxTimesSampled u32 │ … u32 │  0: no limit
 *   40 │ maxSteps f64              │
 *   48 │ samplerExponent f64 │ removerExponent f64 │
 *   64 │ samplesPerInsert f64 │ minSize f64 │ minDiff f64 │ maxDiff f64 │
 */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { FIFO, LIFO, MAX_HEAP, MIN_HEAP, PRIORITIZED, table_remover, UNIFORM, WITH_MIN } from "../selectors/selector";
import { Table, table_bytes, table_exponents, table_init, table_limits, table_number, table_seed } from "../tables/table";
import { isNumber, noRoom } from "./field";
import { INVALID, NOT_FOUND, Refusal } from "./refusal";
import { Root } from "./root";
import { sameWord, Words } from "./words";

/** Items of a table, as in src/limits.ts. */
const MAX_ITEMS: f64 = 0x3ffffff;
const DEFAULT_PENDING: u32 = 1023;
/** Whole numbers up to here are exact. */
export const MAX_WHOLE: f64 = 9007199254740991;

@unmanaged
export class Shelf {
  name: u32;
  bytes: u32;
  handle: u32;
  tableBytes: u32;
  maxSize: u32;
  maxPending: u32;
  sampler: u32;
  remover: u32;
  maxTimesSampled: u32;
  unused: u32;
  maxSteps: f64;
  samplerExponent: f64;
  removerExponent: f64;
  samplesPerInsert: f64;
  minSize: f64;
  minDiff: f64;
  maxDiff: f64;

  @inline
  static of(i: u32): Shelf {
    return changetype<Shelf>(Root.the().tables().get(i));
  }

  table(): Table {
    return changetype<Table>(<usize>this.handle);
  }

  isPrioritized(): bool {
    return (this.sampler & ~WITH_MIN) == PRIORITIZED;
  }
}
const SHELF_BYTES: u32 = 96;
if (offsetof<Shelf>() != SHELF_BYTES) ERROR("SHELF is 96 bytes");

/** table NAME size N … */
export function readTable(words: Words): i32 {
  const tables = Root.the().tables();
  const at = tables.push(SHELF_BYTES);
  if (at == 0) return noRoom();
  const shelf = changetype<Shelf>(at);
  const code = words.keep("the name of the table", at);
  if (code != 0) return code;
  // JavaScript would put a number before the other names.
  if (shelf.bytes == 0 || isNumber(shelf.name, shelf.bytes)) return words.refused("the name of a table", "no whole number, and not empty");
  for (let i: u32 = 0; i + 1 < tables.count; i++)
    if (sameWord(Shelf.of(i).name, Shelf.of(i).bytes, shelf.name, shelf.bytes))
      return words.here(INVALID).put("a table must have a name of its own, got ").word(shelf.name, shelf.bytes).code;
  shelf.maxPending = DEFAULT_PENDING;
  shelf.sampler = UNIFORM;
  shelf.remover = FIFO;
  shelf.samplerExponent = 1;
  shelf.removerExponent = 1;
  shelf.maxSteps = Infinity;
  shelf.samplesPerInsert = 1;
  shelf.minSize = 1;
  shelf.minDiff = -f64.MAX_VALUE;
  shelf.maxDiff = f64.MAX_VALUE;
  while (words.next()) {
    const option = readOption(words, shelf);
    if (option != 0) return option;
  }
  if (shelf.maxSize == 0) return words.here(INVALID).put("the table ").word(shelf.name, shelf.bytes).put(" must have a size: size 100000").code;
  if (shelf.minDiff <= shelf.maxDiff) return 0;
  return words.here(INVALID).put("minDiff must be <= maxDiff (").number(shelf.maxDiff).put("), got ").number(shelf.minDiff).code;
}

/** The table of a name that a rule or a view says, by its index; or NOT_FOUND. */
export function tableNamed(words: Words): i32 {
  const tables = Root.the().tables();
  const code = words.want("the name of a table");
  if (code != 0) return code;
  for (let i: u32 = 0; i < tables.count; i++) if (sameWord(Shelf.of(i).name, Shelf.of(i).bytes, words.word, words.bytes)) return i;
  const refusal = words.here(NOT_FOUND).put("the table must be one of the lines before: ");
  for (let i: u32 = 0; i < tables.count; i++) refusal.word(Shelf.of(i).name, Shelf.of(i).bytes).put(" ");
  return refusal.put("got ").word(words.word, words.bytes).code;
}

/** Makes the tables in the pool. 0, or OUT_OF_MEMORY. */
export function makeTables(): i32 {
  const root = Root.the();
  const count = root.tables().count;
  for (let i: u32 = 0; i < count; i++) {
    const shelf = Shelf.of(i);
    const remover = table_remover(shelf.sampler, shelf.remover, shelf.samplerExponent == shelf.removerExponent);
    const bytes = table_bytes(shelf.maxSize, shelf.maxPending, shelf.sampler, remover);
    shelf.handle = bytes > <f64>MAX_BYTES ? 0 : arena_alloc(<u32>bytes);
    if (shelf.handle == 0) {
      const refusal = Refusal.of(E_OUT_OF_MEMORY).put("bytes must have room for the table ").word(shelf.name, shelf.bytes);
      return refusal.put(", which takes ").number(bytes).put(", got ").number(root.maxBytes).put(" (or lower its size)").code;
    }
    shelf.tableBytes = <u32>bytes;
    table_init(shelf.handle, root.pool, shelf.maxSize, shelf.maxPending, shelf.sampler, remover);
    table_exponents(shelf.handle, shelf.samplerExponent, shelf.removerExponent);
    table_limits(shelf.handle, shelf.maxSteps, shelf.maxTimesSampled, shelf.samplesPerInsert, shelf.minSize, shelf.minDiff, shelf.maxDiff);
    table_seed(shelf.handle, <u32>root.seed, <u32>(root.seed >> 32), i);
    if (count > 1) table_number(shelf.handle, i, count);
  }
  return 0;
}

/** One option, whose name was read. 0, or INVALID. */
function readOption(words: Words, shelf: Shelf): i32 {
  let code = 0;
  if (words.is("size")) {
    code = words.integer("size", 1, MAX_ITEMS);
    shelf.maxSize = <u32>words.value;
  } else if (words.is("pending")) {
    code = words.integer("pending", 0, MAX_ITEMS);
    shelf.maxPending = <u32>words.value;
  } else if (words.is("steps")) {
    code = words.integer("steps", 1, MAX_WHOLE);
    shelf.maxSteps = words.value == MAX_WHOLE ? Infinity : words.value;
  } else if (words.is("timesSampled")) {
    code = words.integer("timesSampled", 1, MAX_WHOLE);
    // As far as it is counted.
    shelf.maxTimesSampled = words.value > <f64>u32.MAX_VALUE ? 0 : <u32>words.value;
  } else if (words.is("minSize")) {
    code = words.integer("minSize", 1, MAX_WHOLE);
    shelf.minSize = words.value;
  } else if (words.is("samplesPerInsert")) {
    code = words.number("samplesPerInsert", 5e-324, f64.MAX_VALUE);
    shelf.samplesPerInsert = words.value;
  } else if (words.is("minDiff")) {
    code = words.number("minDiff", -f64.MAX_VALUE, f64.MAX_VALUE);
    shelf.minDiff = words.value;
  } else if (words.is("maxDiff")) {
    code = words.number("maxDiff", -f64.MAX_VALUE, f64.MAX_VALUE);
    shelf.maxDiff = words.value;
  } else if (words.is("sampler")) {
    code = readSelector(words);
    shelf.sampler = max(code, 0);
    shelf.samplerExponent = words.value;
  } else if (words.is("remover")) {
    code = readSelector(words);
    shelf.remover = max(code, 0);
    shelf.removerExponent = words.value;
  } else {
    return words.unknown("size, pending, steps, timesSampled, minSize, samplesPerInsert, minDiff, maxDiff, sampler or remover");
  }
  return min(code, 0);
}

/** fifo · lifo · uniform · minHeap · maxHeap · prioritized EXPONENT · prioritizedWithMin EXPONENT; its number, the exponent in `value`. */
function readSelector(words: Words): i32 {
  const code = words.want("the selector");
  if (code != 0) return code;
  const kind = kindOf(words);
  words.value = 1;
  if (kind == 0) return words.unknown("a selector: fifo, lifo, uniform, minHeap, maxHeap, prioritized EXPONENT or prioritizedWithMin EXPONENT");
  if ((kind & ~WITH_MIN) != PRIORITIZED) return kind;
  const exponent = words.number("the exponent behind prioritized", -f64.MAX_VALUE, f64.MAX_VALUE);
  return exponent == 0 ? kind : exponent;
}

/** The name of a selector by its number. */
export function selectorName(kind: u32): string {
  switch (kind) {
    case FIFO:
      return "fifo";
    case LIFO:
      return "lifo";
    case UNIFORM:
      return "uniform";
    case PRIORITIZED:
      return "prioritized";
    case MIN_HEAP:
      return "minHeap";
    default:
      return "maxHeap";
  }
}

function kindOf(words: Words): u32 {
  if (words.is("fifo")) return FIFO;
  if (words.is("lifo")) return LIFO;
  if (words.is("uniform")) return UNIFORM;
  if (words.is("minHeap")) return MIN_HEAP;
  if (words.is("maxHeap")) return MAX_HEAP;
  if (words.is("prioritized")) return PRIORITIZED;
  return words.is("prioritizedWithMin") ? PRIORITIZED + WITH_MIN : 0;
}
