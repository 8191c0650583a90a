/** The head of a snapshot, and its list of writers, as the lines of a text (create.ts): so a Replay has one way to come about. */
import { E_CORRUPT, E_UNSUPPORTED } from "../memory/error";
import { kindHas, TAKES_EXPONENT, TAKES_MIN } from "../selectors/kinds";
import { STATE_VERSION } from "./head";
import { Refusal } from "./refusal";
import { kindOf, MIN_SUFFIX } from "./table-options";
import { ARRAY, NUMBER, OBJECT, Put, Tags, TEXT, TRUE } from "./tags";

const MAX_DEPTH: u32 = 64;
/** PART, 8 bytes, of the path to a node of the spec: │ name u32 │ bytes u32 │; of a list no name, and its number. */
const PARTS_AT: usize = memory.data(512, 8);
const NUMBERED: u32 = 0;
if (MAX_DEPTH * 8 != 512) ERROR("PARTS has room for a path");

/** Lines of the head: leaves, lists, roles, tables, seed, bytes. 0, or what is refused. */
export function headLines(put: Put, at: u32, bytes: u32): i32 {
  const tags = Tags.of(at, bytes);
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    if (tags.is("version")) {
      if (tags.number() != STATE_VERSION && tags.broken == 0) {
        const refusal = Refusal.of(E_UNSUPPORTED).put("the snapshot must have state of version ").number(STATE_VERSION);
        return refusal.put(", got ").number(tags.value).put(": another version of Reprise wrote it").code;
      }
    } else if (tags.is("options")) optionLines(put, tags);
    else tags.skip();
  }
  if (tags.odd != 0) return Refusal.of(E_UNSUPPORTED).put("the snapshot has a name with half a surrogate pair, which no UTF-8 has").code;
  return tags.broken == 0 ? 0 : contradicts();
}

/** Lines of the writers, and of their rules. 0, or what is refused. */
export function writerLines(put: Put, at: u32, bytes: u32): i32 {
  const tags = Tags.of(at, bytes);
  for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0; left--) {
    const from = tags.at;
    // Its own words first: the rules stand among them.
    put.raw("writer");
    eachWord(put, tags, false);
    put.byte(10);
    tags.at = from;
    eachWord(put, tags, true);
  }
  // Items that show columns of their own, or half a character.
  if (tags.odd != 0) return Refusal.of(E_UNSUPPORTED).put("the snapshot has rules with columns, or a name that is no UTF-8, which only TypeScript shows").code;
  return tags.broken == 0 ? 0 : contradicts();
}

function contradicts(): i32 {
  return Refusal.of(E_CORRUPT).put("the snapshot contradicts itself: its head, or its writers, are no values").code;
}

function optionLines(put: Put, tags: Tags): void {
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    if (tags.is("spec")) nodeLines(put, tags, 0);
    else if (tags.is("tables")) tableLines(put, tags);
    else if (tags.is("transition")) roleLines(put, tags);
    else if (tags.is("maxBytes")) line(put.raw("bytes ").bits(tags.number()));
    else if (tags.is("seed")) {
      tags.text();
      seedLine(put, tags);
    } else tags.skip();
  }
}

/** A node of the spec: a leaf has a dtype, which is a text. */
function nodeLines(put: Put, tags: Tags, depth: u32): void {
  const from = tags.at;
  const tag = tags.tag();
  if ((tag != ARRAY && tag != OBJECT) || depth >= MAX_DEPTH) {
    tags.broken = 1;
    return;
  }
  const count = tags.count();
  const first = tags.at;
  if (tag == OBJECT && isLeaf(tags, count)) {
    tags.at = from;
    leafLine(put, tags, depth);
    return;
  }
  tags.at = first;
  if (tag == ARRAY) line(path(put.raw("list "), depth));
  const part = PARTS_AT + <usize>(depth << 3);
  for (let i: u32 = 0; i < count && tags.broken == 0; i++) {
    if (tag == OBJECT) tags.text();
    store<u32>(part, tag == OBJECT ? tags.word : NUMBERED);
    store<u32>(part, tag == OBJECT ? tags.bytes : i, 4);
    nodeLines(put, tags, depth + 1);
  }
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

/** leaf PATH DTYPE … : its words come in the order of the line, wherever they stand. */
function leafLine(put: Put, tags: Tags, depth: u32): void {
  const from = tags.at;
  path(put.raw("leaf "), depth).raw(" ");
  if (find(tags, from, "dtype")) {
    tags.text();
    if (tags.is("string")) put.raw("text");
    else put.rawAt(tags.word, tags.bytes);
  }
  if (find(tags, from, "maxBytes")) put.raw(" ").bits(tags.number());
  if (find(tags, from, "shape")) for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0; left--) put.raw(" ").bits(tags.number());
  if (find(tags, from, "shared")) {
    tags.text();
    quoted(put.raw(" shared "), tags.word, tags.bytes);
  }
  if (find(tags, from, "stack")) put.raw(" stack ").bits(tags.number());
  line(put);
  tags.at = from;
  tags.skip();
}

/** Goes to the value of a key in the object that begins at `from`; whether it is there. */
export function find(tags: Tags, from: u32, key: string): bool {
  tags.at = from;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    if (tags.is(key)) return true;
    tags.skip();
  }
  return false;
}

function roleLines(put: Put, tags: Tags): void {
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    put.raw("role ").rawAt(tags.word, tags.bytes).raw(" ");
    tags.text();
    line(quoted(put, tags.word, tags.bytes));
  }
}

function tableLines(put: Put, tags: Tags): void {
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    quoted(put.raw("table "), tags.word, tags.bytes);
    for (let words = tags.enter(OBJECT); words > 0 && tags.broken == 0; words--) {
      tags.text();
      if (tags.is("sampler") || tags.is("remover")) selectorWords(put.raw(" ").rawAt(tags.word, tags.bytes), tags);
      else if (tags.is("rateLimiter")) limiterWords(put, tags);
      else if (tags.is("maxSize")) put.raw(" size ").bits(tags.number());
      else if (tags.is("maxPending")) put.raw(" pending ").bits(tags.number());
      else if (tags.is("maxSteps")) put.raw(" steps ").bits(tags.number());
      else if (tags.is("maxTimesSampled")) put.raw(" timesSampled ").bits(tags.number());
      else tags.skip();
    }
    line(put);
  }
}

function selectorWords(put: Put, tags: Tags): void {
  const from = tags.at;
  let kind: u32 = 0;
  if (find(tags, from, "kind")) {
    tags.text();
    kind = kindOf(tags.word, tags.bytes);
    put.raw(" ").rawAt(tags.word, tags.bytes);
  }
  if (kind != 0 && kindHas(kind, TAKES_MIN) && find(tags, from, "withMin") && tags.tag() == TRUE) put.raw(MIN_SUFFIX);
  if (kind != 0 && kindHas(kind, TAKES_EXPONENT)) put.raw(" ").bits(find(tags, from, "exponent") ? tags.number() : 1);
  tags.at = from;
  tags.skip();
}

function limiterWords(put: Put, tags: Tags): void {
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    put.raw(" ").rawAt(tags.word, tags.bytes).raw(" ").bits(tags.number());
  }
}

/** The words of a writer, or the lines of its rules. */
function eachWord(put: Put, tags: Tags, rules: bool): void {
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    if (tags.is("items") && rules) ruleLines(put, tags);
    else if (tags.is("layouts") && rules) noLayouts(tags);
    else if (rules) tags.skip();
    else if (tags.is("keep")) put.raw(" keep ").bits(tags.number());
    else if (tags.is("name")) {
      tags.text();
      quoted(put.raw(" name "), tags.word, tags.bytes);
    } else if (tags.is("lanes")) put.raw(" lanes ").bits(tags.number());
    else if (tags.is("across")) put.raw(tags.tag() == TRUE ? " across" : "");
    else if (tags.is("autoreset")) {
      tags.text();
      put.raw(" autoreset ").rawAt(tags.word, tags.bytes);
    } else tags.skip();
  }
}

function ruleLines(put: Put, tags: Tags): void {
  for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0; left--) {
    const from = tags.at;
    put.raw("rule ");
    if (find(tags, from, "table")) {
      tags.text();
      quoted(put, tags.word, tags.bytes);
    }
    const steps = find(tags, from, "nStep") ? tags.number() : 0;
    if (steps > 0) put.raw(" nStep ").bits(steps);
    else {
      if (find(tags, from, "length")) put.raw(" length ").bits(tags.number());
      if (find(tags, from, "stride")) put.raw(" stride ").bits(tags.number());
    }
    if (find(tags, from, "priority")) {
      const isNumber = <u32>load<u8>(<usize>tags.at) == NUMBER;
      put.raw(" priority ");
      if (isNumber) put.bits(tags.number());
      else put.raw("max");
    }
    if (steps > 0 && find(tags, from, "finite") && tags.tag() != TRUE) put.raw(" infinite");
    line(put);
    tags.at = from;
    tags.skip();
  }
}

/** Rules whose items show columns of their own are none of embed.wasm's. */
function noLayouts(tags: Tags): void {
  for (let left = tags.enter(ARRAY); left > 0 && tags.broken == 0; left--) if (tags.number() != 0) tags.odd = 1;
}

/** A whole number of any length, below 0 too, of which its last 64 bits count. */
function seedLine(put: Put, tags: Tags): void {
  let seed: u64 = 0;
  const negative = tags.bytes != 0 && load<u8>(<usize>tags.word) == 45;
  for (let i = u32(negative); i < tags.bytes; i++) seed = seed * 10 + <u64>load<u8>(<usize>(tags.word + i)) - 48;
  if (negative) seed = 0 - seed;
  line(put.raw("seed ").digits(seed));
}

function line(put: Put): void {
  put.byte(10);
}

/** The path to a node, in quotes. */
function path(put: Put, depth: u32): Put {
  put.raw('"');
  for (let i: u32 = 0; i < depth; i++) {
    const part = PARTS_AT + <usize>(i << 3);
    if (i > 0) put.raw(".");
    if (load<u32>(part) == NUMBERED) put.digits(load<u32>(part, 4));
    else escaped(put, load<u32>(part), load<u32>(part, 4));
  }
  return put.raw('"');
}

function quoted(put: Put, at: u32, bytes: u32): Put {
  escaped(put.raw('"'), at, bytes);
  return put.raw('"');
}

function escaped(put: Put, at: u32, bytes: u32): void {
  for (let i: u32 = 0; i < bytes; i++) {
    const byte = <u32>load<u8>(<usize>(at + i));
    if (byte == 34 || byte == 92 || byte == 10) put.byte(92);
    put.byte(byte == 10 ? 110 : byte);
  }
}
