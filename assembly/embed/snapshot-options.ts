/**
 * Reads the options of a Replay from the head of a snapshot, and the options of its writers from the list of writers, into the same structures and with the
 * same checks as the lines of a text. Invalid and out-of-range values break the tags.
 */

import { arena_alloc } from "../memory/arena";
import { E_CORRUPT, E_UNSUPPORTED } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { TEXT as TEXT_DTYPE } from "../rows/leaf";
import { kindHas, SAMPLES_ONLY, TAKES_EXPONENT, TAKES_MIN, WITH_MIN } from "../selectors/kinds";
import { MAX_LENGTH } from "../tables/slots";
import { MAX_WHOLE } from "./decimal";
import { dtypeNamed, endField, FIELD_BYTES, Field, MAX_DEPTH, MAX_STACK, MAX_VALUE_BYTES } from "./field";
import { GrowingArray } from "./growing-array";
import { loadLimiter } from "./limiter-options";
import { noRoom, notUtf8, Refusal } from "./refusal";
import { Root } from "./root";
import { STATE_VERSION } from "./snapshot-head";
import { loadStored } from "./stored-limit";
import { beginTable, endTable, highestExponent, kindNamed, leastExponent, MAX_ITEMS, nameTable, TableOptions, tableAt } from "./table-options";
import { ARRAY, find, NOT_UTF8, NUMBER, OBJECT, Put, Tags, TEXT, TRUE } from "./tags";
import { TextReader, Word } from "./text-reader";
import { ROLES, roleNamed, setRole } from "./transition-roles";
import { autoresetNamed, beginRule, beginWriter, endRule, MAX_BURN_IN, MAX_LANES, nameWriter } from "./writer-options";

/** PART, 8 bytes, of the path to a node of the spec: │ name u32 │ bytes u32 │; a list has a number and no name. */
const PARTS_AT: usize = memory.data(512, 8);
const NUMBERED: u32 = 0;
if (MAX_DEPTH * 8 != 512) ERROR("PARTS has room for a path");

/** Reads the options of a head. Returns 0, or the code of a refusal. */
export function readHead(at: u32, bytes: u32): i32 {
  const tags = Tags.of(at, bytes);
  let code = 0;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0 && code == 0; left--) {
    tags.text();
    if (tags.is("version")) {
      if (tags.number() != STATE_VERSION && tags.broken == 0) {
        const refusal = Refusal.of(E_UNSUPPORTED).put("the snapshot must have state of version ").number(STATE_VERSION);
        return refusal.put(", got ").number(tags.value).put(". Load it with the version of Reprise that wrote it").code;
      }
    } else if (tags.is("options")) code = readOptions(tags);
    else tags.skip();
  }
  if (tags.odd == NOT_UTF8) return notUtf8();
  if (tags.odd != 0)
    return Refusal.of(E_UNSUPPORTED).put("the snapshot has a name that is not valid UTF-8 (half a surrogate pair). Load it in TypeScript").code;
  return tags.broken == 0 ? code : contradicts();
}

/** Reads the options of the writers, and their rules. Returns 0, or the code of a refusal. */
export function readWriters(at: u32, bytes: u32): i32 {
  const tags = Tags.of(at, bytes);
  let code = 0;
  for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0 && code == 0; left--) code = readWriter(tags);
  if (tags.odd == NOT_UTF8) return notUtf8();
  // A rule has its own columns or a priority from a leaf, or a text has half of a surrogate pair.
  if (tags.odd != 0)
    return Refusal.of(E_UNSUPPORTED).put(
      "the snapshot has rules with columns, or with priorities from a leaf, or with a name that is not UTF-8. Load it in TypeScript",
    ).code;
  return tags.broken == 0 ? code : contradicts();
}

function contradicts(): i32 {
  return Refusal.of(E_CORRUPT).put("the snapshot is damaged: its header or its list of writers is invalid").code;
}

/** Returns a reader that attributes refusals to the snapshot. */
function source(): TextReader {
  const words = TextReader.of(0, 0);
  words.saved = 1;
  return words;
}

/** Reads a name, and returns a reader with this name as its word. */
function name(tags: Tags): TextReader {
  const words = source();
  tags.name();
  words.word = tags.word;
  words.bytes = tags.bytes;
  return words;
}

function readOptions(tags: Tags): i32 {
  let code = 0;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0 && code == 0; left--) {
    tags.text();
    if (tags.is("spec")) code = readSpec(tags);
    else if (tags.is("tables")) code = readTables(tags);
    else if (tags.is("transition")) code = readRoles(tags);
    else if (tags.is("maxBytes")) Root.the().maxBytes = <u32>min(tags.whole(1, 4294967296), <f64>MAX_BYTES);
    else if (tags.is("storedBytes")) code = loadStored(tags, source());
    else if (tags.is("seed")) Root.the().seed = seedOf(tags);
    else tags.skip();
  }
  return code;
}

/** Reads a whole number of any length, possibly negative, and returns its last 64 bits. */
function seedOf(tags: Tags): u64 {
  tags.text();
  let seed: u64 = 0;
  const negative = tags.bytes != 0 && load<u8>(<usize>tags.word) == 45;
  for (let i = u32(negative); i < tags.bytes; i++) seed = seed * 10 + <u64>load<u8>(<usize>(tags.word + i)) - 48;
  return negative ? 0 - seed : seed;
}

/** Reads all leaves. The paths are assembled first, then stored separately. */
function readSpec(tags: Tags): i32 {
  const root = Root.the();
  // A second spec counts as damage: it would move the paths of the first spec again below.
  if (root.fields().count != 0 || root.lists().count != 0) {
    tags.broken = 1;
    return 0;
  }
  const put = Put.begin();
  let code = readNode(put, tags, 0);
  if (code != 0 || tags.broken != 0) return code;
  const at = put.failed != 0 ? 0 : arena_alloc(root.bytes().count + 1);
  if (at == 0) return noRoom();
  memory.copy(at, root.bytes().at, root.bytes().count);
  for (let i: u32 = 0; i < root.lists().count; i++) changetype<Word>(root.lists().get(i)).at += at;
  for (let i: u32 = 0; i < root.fields().count; i++) Field.of(i).path += at;
  for (let i: u32 = 0; i < root.fields().count && code == 0; i++) code = endField(source(), Field.of(i));
  return code;
}

/** Reads a node of the spec. A node is a leaf if it is an object whose `dtype` is a text. */
function readNode(put: Put, tags: Tags, depth: u32): i32 {
  const from = tags.at;
  const tag = tags.tag();
  if ((tag != ARRAY && tag != OBJECT) || depth >= MAX_DEPTH) {
    tags.broken = 1;
    return 0;
  }
  const count = tags.count();
  const first = tags.at;
  if (tag == OBJECT && isLeaf(tags, count)) {
    tags.at = from;
    return readLeaf(put, tags, depth);
  }
  tags.at = first;
  if (tag == ARRAY) {
    const list = source().entry(Root.the().lists(), offsetof<Word>(), "lists");
    if (list == 0) return Refusal.last();
    putPath(put, depth, list);
  }
  const part = PARTS_AT + <usize>(depth << 3);
  let code = 0;
  for (let i: u32 = 0; i < count && tags.broken == 0 && code == 0; i++) {
    if (tag == OBJECT) tags.name();
    store<u32>(part, tag == OBJECT ? tags.word : NUMBERED);
    store<u32>(part, tag == OBJECT ? tags.bytes : i, 4);
    code = readNode(put, tags, depth + 1);
  }
  return code;
}

function isLeaf(tags: Tags, count: u32): bool {
  for (let i: u32 = 0; i < count && tags.broken == 0; i++) {
    tags.text();
    const isDtype = tags.is("dtype");
    const from = tags.at;
    if (isDtype && tags.tag() == TEXT) return true;
    tags.at = from;
    tags.skip();
  }
  return false;
}

/** Writes the path to a node, and a WORD that holds the offset at which the path begins. */
function putPath(put: Put, depth: u32, to: usize): void {
  const bytes = Root.the().bytes();
  const word = changetype<Word>(to);
  word.at = bytes.count;
  for (let i: u32 = 0; i < depth; i++) {
    const part = PARTS_AT + <usize>(i << 3);
    if (i > 0) put.raw(".");
    if (load<u32>(part) == NUMBERED) put.digits(load<u32>(part, 4));
    else put.rawAt(load<u32>(part), load<u32>(part, 4));
  }
  word.bytes = bytes.count - word.at;
}

/** Reads a leaf, whose parts may be in any order. */
function readLeaf(put: Put, tags: Tags, depth: u32): i32 {
  const from = tags.at;
  const at = source().entry(Root.the().fields(), FIELD_BYTES, "leaves");
  if (at == 0) return Refusal.last();
  const field = changetype<Field>(at);
  const dims = Root.the().dims();
  putPath(put, depth, at + offsetof<Field>("path"));
  field.frames = 1;
  field.dims = dims.count;
  if (find(tags, from, "dtype")) {
    tags.text();
    field.dtype = dtypeNamed(tags.word, tags.bytes);
    if (field.dtype > TEXT_DTYPE) tags.broken = 1;
  }
  if (field.dtype == TEXT_DTYPE) {
    if (find(tags, from, "maxBytes")) field.maxBytes = <u32>tags.whole(1, MAX_VALUE_BYTES);
    else tags.broken = 1;
  }
  if (find(tags, from, "shared")) {
    tags.name();
    field.share = tags.word;
    field.shareBytes = tags.bytes;
    field.isShared = 1;
    if (find(tags, from, "stack")) {
      field.frames = <u32>tags.whole(1, MAX_STACK);
      field.stack = field.frames;
      if (!addDim(dims, field, field.stack)) return noRoom();
    }
    if (find(tags, from, "packed")) field.ratio = tags.within(1, f64.MAX_VALUE);
  }
  if (find(tags, from, "shape"))
    for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0; left--) if (!addDim(dims, field, <u32>tags.whole(1, 0x7fffffff))) return noRoom();
  tags.at = from;
  tags.skip();
  return 0;
}

function addDim(dims: GrowingArray, field: Field, size: u32): bool {
  const dim = dims.push(4);
  if (dim == 0) return false;
  store<u32>(dim, size);
  field.rank += 1;
  return true;
}

function readRoles(tags: Tags): i32 {
  let code = 0;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0 && code == 0; left--) {
    const role = roleNamed(name(tags));
    if (role == ROLES) tags.broken = 1;
    else code = setRole(name(tags), role);
  }
  return code;
}

function readTables(tags: Tags): i32 {
  let code = 0;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0 && code == 0; left--) {
    const words = name(tags);
    const options = beginTable(words);
    if (options === null) return Refusal.last();
    code = nameTable(words, options);
    for (let parts = tags.enter(OBJECT); parts > 0 && tags.broken == 0 && code == 0; parts--) readTableOption(tags, options);
    if (code == 0 && tags.broken == 0) code = endTable(source(), options);
  }
  return code;
}

function readTableOption(tags: Tags, options: TableOptions): void {
  tags.text();
  if (tags.is("sampler")) {
    options.sampler = readSelector(tags);
    options.samplerExponent = tags.value;
  } else if (tags.is("remover")) {
    options.remover = readSelector(tags);
    options.removerExponent = tags.value;
    if (options.remover != 0 && kindHas(options.remover, SAMPLES_ONLY)) tags.broken = 1;
  } else if (tags.is("rateLimiter")) loadLimiter(tags, options.limiter());
  else if (tags.is("maxSize")) options.maxSize = <u32>tags.whole(1, MAX_ITEMS);
  else if (tags.is("maxPending")) options.maxPending = <u32>tags.whole(0, MAX_ITEMS);
  else if (tags.is("maxSteps")) options.setSteps(tags.whole(1, MAX_WHOLE));
  else if (tags.is("maxTimesSampled")) options.setTimesSampled(tags.whole(1, MAX_WHOLE));
  else tags.skip();
}

/** Returns the number of a selector; its exponent is in `value`. */
function readSelector(tags: Tags): u32 {
  const from = tags.at;
  let kind: u32 = 0;
  if (find(tags, from, "kind")) {
    tags.text();
    kind = kindNamed(tags.word, tags.bytes);
  }
  if (kind == 0) {
    tags.broken = 1;
    return 0;
  }
  let exponent: f64 = 1;
  if (kindHas(kind, TAKES_MIN) && find(tags, from, "withMin") && tags.tag() == TRUE) kind |= WITH_MIN;
  if (kindHas(kind, TAKES_EXPONENT) && find(tags, from, "exponent")) exponent = tags.within(leastExponent(kind), highestExponent(kind));
  tags.at = from;
  tags.skip();
  tags.value = exponent;
  return kind;
}

function readWriter(tags: Tags): i32 {
  const options = beginWriter(source());
  if (options === null) return Refusal.last();
  let code = 0;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0 && code == 0; left--) {
    tags.text();
    if (tags.is("items")) for (let rules = tags.enter(ARRAY); rules > 0 && tags.broken == 0 && code == 0; rules--) code = readRule(tags);
    else if (tags.is("layouts")) noLayouts(tags);
    else if (tags.is("keep")) options.keep = <u32>tags.whole(1, MAX_LENGTH);
    else if (tags.is("name")) code = nameWriter(name(tags), options);
    else if (tags.is("lanes")) options.lanes = <u32>tags.whole(1, MAX_LANES);
    else if (tags.is("across")) options.across = u32(tags.tag() == TRUE);
    else if (tags.is("autoreset")) {
      options.autoreset = autoresetNamed(name(tags));
      if (options.autoreset == 0) tags.broken = 1;
    } else tags.skip();
  }
  return code;
}

function readRule(tags: Tags): i32 {
  const from = tags.at;
  const rule = beginRule(source());
  if (rule === null) return Refusal.last();
  if (!find(tags, from, "table")) {
    tags.broken = 1;
    return 0;
  }
  const table = tableAt(name(tags));
  if (table < 0) return table;
  rule.table = table;
  if (find(tags, from, "nStep")) rule.nStep = <u32>tags.whole(0, MAX_LENGTH - 1);
  if (rule.nStep == 0) {
    if (find(tags, from, "length")) rule.length = <u32>tags.whole(1, MAX_LENGTH);
    if (find(tags, from, "stride")) rule.stride = <u32>tags.whole(1, MAX_LENGTH);
  }
  if (find(tags, from, "priority")) {
    const kind = <u32>load<u8>(<usize>tags.at);
    rule.largest = u32(kind != NUMBER);
    // Priorities from a leaf are not supported in embed.wasm.
    if (kind == OBJECT) tags.odd = 1;
    if (rule.largest == 0) rule.priority = tags.within(0, f64.MAX_VALUE);
  }
  if (rule.nStep == 0 && find(tags, from, "burnIn")) {
    rule.sequence = 1;
    rule.burnIn = <u32>tags.whole(0, MAX_BURN_IN);
  }
  if (rule.hasReturns() && find(tags, from, "finite")) rule.finite = u32(tags.tag() == TRUE);
  tags.at = from;
  tags.skip();
  return tags.broken == 0 ? endRule(source(), rule, true, rule.sequence != 0) : 0;
}

/** Marks rules whose items have their own columns, which embed.wasm does not support. */
function noLayouts(tags: Tags): void {
  for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0; left--) if (tags.number() != 0) tags.odd = 1;
}
