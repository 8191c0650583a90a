/**
 * Defines the options of a table in a text, and the table made from them.
 *
 * TABLE_OPTIONS, 88 bytes:
 *    0 │ name u32    │ bytes u32      │
 *    8 │ handle u32  │ maxSize u32    │  TABLE (tables/table.ts), once the table is made
 *   16 │ maxPending u32 │ maxTimesSampled u32 │  0: no limit
 *   24 │ sampler u32 │ remover u32    │  numbers of the selectors, with WITH_MIN
 *   32 │ maxSteps f64                 │
 *   40 │ samplerExponent f64 │ removerExponent f64 │
 *   56 │ LIMITER_OPTIONS (32)         │  tables/rate-limiter.ts
 */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { FIFO, KIND, kindHas, kindName, LAST_KIND, RECENCY, SAMPLES_ONLY, TAKES_EXPONENT, TAKES_MIN, UNIFORM, WEIGHS, WITH_MIN } from "../selectors/kinds";
import { table_remover } from "../selectors/selector";
import { LimiterOptions } from "../tables/rate-limiter";
import { Table, table_bytes, table_exponents, table_init, table_limits, table_number, table_seed } from "../tables/table";
import { MAX_WHOLE } from "./decimal";
import { isNumber } from "./field";
import { beginLimiter, NO_OPTION, readLimiter } from "./limiter-options";
import { INVALID, NOT_FOUND, Refusal } from "./refusal";
import { Root } from "./root";
import { sameWord, TextReader } from "./text-reader";
import { isText } from "./utf8";

/** The maximum number of items of a table, as in src/base/limits.ts. */
export const MAX_ITEMS: f64 = 0x3ffffff;
const DEFAULT_PENDING: u32 = 1023;
/** The highest exponent of recency, as in src/schema/selector.ts. */
const MAX_RECENCY: f64 = 32;
/** The suffix of a kind whose selector also keeps the smallest weight. */
export const MIN_SUFFIX: string = "WithMin";

@unmanaged
export class TableOptions {
  name: u32;
  bytes: u32;
  handle: u32;
  maxSize: u32;
  maxPending: u32;
  maxTimesSampled: u32;
  sampler: u32;
  remover: u32;
  maxSteps: f64;
  samplerExponent: f64;
  removerExponent: f64;

  @inline
  static of(i: u32): TableOptions {
    return changetype<TableOptions>(Root.the().tables().get(i));
  }

  limiter(): LimiterOptions {
    return changetype<LimiterOptions>(changetype<usize>(this) + LIMITER_AT);
  }

  /** Sets the limit on the steps of all items together. MAX_WHOLE means no limit. */
  setSteps(steps: f64): void {
    this.maxSteps = steps == MAX_WHOLE ? Infinity : steps;
  }

  /** Sets the limit on how often an item is drawn. A number above the highest possible count means no limit. */
  setTimesSampled(times: f64): void {
    this.maxTimesSampled = times > <f64>u32.MAX_VALUE ? 0 : <u32>times;
  }

  table(): Table {
    return changetype<Table>(<usize>this.handle);
  }

  /** Whether draws are proportional to priorities. */
  weighs(): bool {
    return kindHas(this.sampler, WEIGHS);
  }

  /** Whether the sampler could keep the smallest weight but does not. */
  lacksMin(): bool {
    return kindHas(this.sampler, TAKES_MIN) && (this.sampler & WITH_MIN) == 0;
  }
}
const LIMITER_AT: usize = 56;
const TABLE_OPTIONS_BYTES: u32 = 88;
if (offsetof<TableOptions>() != LIMITER_AT || LIMITER_AT + offsetof<LimiterOptions>() != TABLE_OPTIONS_BYTES)
  ERROR("TABLE_OPTIONS: LIMITER_OPTIONS at byte 56");

/** Reads the line `table NAME size N …`. */
export function readTable(words: TextReader): i32 {
  const options = beginTable(words);
  if (options === null) return Refusal.last();
  let code = words.want("the name of the table");
  if (code == 0) code = nameTable(words, options);
  if (code != 0) return code;
  while (words.next()) {
    const option = readOption(words, options);
    if (option != 0) return option;
  }
  return endTable(words, options);
}

/** Names a table with the word that was read. Returns 0 or INVALID. */
export function nameTable(words: TextReader, options: TableOptions): i32 {
  const tables = Root.the().tables();
  options.name = words.word;
  options.bytes = words.bytes;
  // JavaScript would order a number before the other names, and treats __proto__ specially.
  if (options.bytes == 0 || isNumber(options.name, options.bytes) || words.is("__proto__"))
    return words.got(words.here(INVALID).put("the name of a table must not be empty, a whole number or __proto__"));
  for (let i: u32 = 0; i + 1 < tables.count; i++)
    if (sameWord(TableOptions.of(i).name, TableOptions.of(i).bytes, options.name, options.bytes))
      return words.here(INVALID).put("the name of a table must be unique, got ").word(options.name, options.bytes).code;
  return 0;
}

/** Adds a table with the defaults; null, with a refusal, if there are too many. */
export function beginTable(words: TextReader): TableOptions | null {
  const at = words.entry(Root.the().tables(), TABLE_OPTIONS_BYTES, "tables");
  if (at == 0) return null;
  const options = changetype<TableOptions>(at);
  options.maxPending = DEFAULT_PENDING;
  options.sampler = UNIFORM;
  options.remover = FIFO;
  options.samplerExponent = 1;
  options.removerExponent = 1;
  options.maxSteps = Infinity;
  beginLimiter(options.limiter());
  return options;
}

/** Checks all options of a table together. Returns 0 or INVALID. */
export function endTable(words: TextReader, options: TableOptions): i32 {
  if (options.maxSize == 0)
    return words.here(INVALID).put("size is required for the table ").word(options.name, options.bytes).put(", such as size 100000").code;
  const limiter = options.limiter();
  if (limiter.minDiff <= limiter.maxDiff) return 0;
  return words.here(INVALID).put("minDiff must be <= maxDiff (").number(limiter.maxDiff).put("), got ").number(limiter.minDiff).code;
}

/** Reads the name of a table in the line of a rule or a view, and returns the index of the table, NOT_FOUND, or INVALID if the name is missing. */
export function tableNamed(words: TextReader): i32 {
  const code = words.want("the name of a table");
  return code == 0 ? tableAt(words) : code;
}

/** Like `tableNamed`, for a name that was read already. */
export function tableAt(words: TextReader): i32 {
  const tables = Root.the().tables();
  for (let i: u32 = 0; i < tables.count; i++) if (sameWord(TableOptions.of(i).name, TableOptions.of(i).bytes, words.word, words.bytes)) return i;
  const refusal = words.here(NOT_FOUND).put("the table must be described in an earlier line, got ").word(words.word, words.bytes);
  for (let i: u32 = 0; i < tables.count; i++) refusal.put(i == 0 ? ". Tables: " : ", ").word(TableOptions.of(i).name, TableOptions.of(i).bytes);
  return refusal.code;
}

/** Returns the table of a number that a call names; null, with a refusal, if it does not exist. */
export function tableOf(i: u32): TableOptions | null {
  const count = Root.the().tables().count;
  if (i < count) return TableOptions.of(i);
  const refusal = Refusal.of(NOT_FOUND).put("table must be the number of a table in the text");
  if (count != 0) refusal.put(", up to ").number(count - 1);
  refusal.put(", got ").number(i);
  return null;
}

/** Allocates and initializes the tables, after the pools are made. Returns 0 or OUT_OF_MEMORY. */
export function makeTables(): i32 {
  const root = Root.the();
  const count = root.tables().count;
  for (let i: u32 = 0; i < count; i++) {
    const options = TableOptions.of(i);
    const remover = table_remover(options.sampler, options.remover, options.samplerExponent == options.removerExponent);
    const bytes = table_bytes(options.maxSize, options.maxPending, options.sampler, remover);
    options.handle = bytes > <f64>MAX_BYTES ? 0 : arena_alloc(<u32>bytes);
    if (options.handle == 0) {
      const refusal = Refusal.of(E_OUT_OF_MEMORY).put("the table ").word(options.name, options.bytes).put(" takes ").number(bytes);
      return refusal.put(" bytes, but the limit bytes is ").number(root.maxBytes).put(". Increase bytes, or lower the size of the table").code;
    }
    table_init(options.handle, root.pool, options.maxSize, options.maxPending, options.sampler, remover);
    table_exponents(options.handle, options.samplerExponent, options.removerExponent);
    table_limits(options.handle, options.maxSteps, options.maxTimesSampled, changetype<usize>(options.limiter()));
    table_seed(options.handle, <u32>root.seed, <u32>(root.seed >> 32), i);
    if (count > 1) table_number(options.handle, i, count);
  }
  return 0;
}

/** Reads one option, whose name was read. Returns 0 or INVALID. */
function readOption(words: TextReader, options: TableOptions): i32 {
  let code = 0;
  if (words.is("size")) {
    code = words.integer("size", 1, MAX_ITEMS);
    options.maxSize = <u32>words.value;
  } else if (words.is("pending")) {
    code = words.integer("pending", 0, MAX_ITEMS);
    options.maxPending = <u32>words.value;
  } else if (words.is("steps")) {
    code = words.integer("steps", 1, MAX_WHOLE);
    options.setSteps(words.value);
  } else if (words.is("timesSampled")) {
    code = words.integer("timesSampled", 1, MAX_WHOLE);
    options.setTimesSampled(words.value);
  } else if (words.is("sampler")) {
    code = readSelector(words);
    options.sampler = max(code, 0);
    options.samplerExponent = words.value;
  } else if (words.is("remover")) {
    code = readSelector(words);
    options.remover = max(code, 0);
    options.removerExponent = words.value;
    if (code > 0 && kindHas(code, SAMPLES_ONLY)) return words.refused("the remover", "a selector that can remove items");
  } else {
    code = readLimiter(words, options.limiter());
    if (code == NO_OPTION) return words.unknown("size, pending, steps, timesSampled, minSize, samplesPerInsert, minDiff, maxDiff, sampler or remover");
  }
  return min(code, 0);
}

/** Reads `KIND`, `KIND EXPONENT` or `KINDWithMin EXPONENT`, and returns the number of the selector. The exponent is in `value`. */
function readSelector(words: TextReader): i32 {
  const code = words.want("the selector");
  if (code != 0) return code;
  const kind = words.broken == 0 ? kindNamed(words.word, words.bytes) : 0;
  words.value = 1;
  if (kind == 0) return noKind(words);
  if (!kindHas(kind, TAKES_EXPONENT)) return kind;
  const exponent = words.number(
    (kind & KIND) == RECENCY ? "the exponent after recency" : "the exponent after prioritized",
    leastExponent(kind),
    highestExponent(kind),
  );
  return exponent == 0 ? kind : exponent;
}

/** Returns the least exponent that a kind of selector allows. */
export function leastExponent(kind: u32): f64 {
  return (kind & KIND) == RECENCY ? 0 : -f64.MAX_VALUE;
}

/** Returns the highest exponent that a kind of selector allows. */
export function highestExponent(kind: u32): f64 {
  return (kind & KIND) == RECENCY ? MAX_RECENCY : f64.MAX_VALUE;
}

/** Returns the kind that a word names; 0: none. */
export function kindNamed(word: u32, bytes: u32): u32 {
  for (let kind = FIFO; kind <= LAST_KIND; kind++) {
    const name = kindName(kind);
    if (isText(word, bytes, name)) return kind;
    const head = <u32>name.length;
    if (kindHas(kind, TAKES_MIN) && bytes > head && isText(word, head, name) && isText(word + head, bytes - head, MIN_SUFFIX)) return kind + WITH_MIN;
  }
  return 0;
}

/** Refuses a word that does not name a kind: kinds without an exponent come first. */
function noKind(words: TextReader): i32 {
  const refusal = words.here(INVALID).put("the selector must be ");
  for (let kind = FIFO; kind <= LAST_KIND; kind++) if (!kindHas(kind, TAKES_EXPONENT)) refusal.put(kind == FIFO ? "" : ", ").put(kindName(kind));
  for (let kind = FIFO; kind <= LAST_KIND; kind++) {
    if (!kindHas(kind, TAKES_EXPONENT)) continue;
    refusal.put(", ").put(kindName(kind)).put(" EXPONENT");
    if (kindHas(kind, TAKES_MIN)) refusal.put(" or ").put(kindName(kind)).put(MIN_SUFFIX).put(" EXPONENT");
  }
  return words.got(refusal);
}
