/** Writes the head of a snapshot (src/storage/format/head.ts): the options of a Replay, the layout of its rows, its writers. */

import { dtypeName, TEXT } from "../rows/leaf";
import { kindHas, kindName, TAKES_EXPONENT, TAKES_MIN, WITH_MIN } from "../selectors/kinds";
import { writer_number, writer_numbers } from "../writer/dues";
import { MAX_WHOLE, placeOf } from "./decimal";
import { Field, isList, partEnd } from "./field";
import { putLimiter } from "./limiter-options";
import { Root } from "./root";
import { putStored } from "./stored-limit";
import { TableOptions } from "./table-options";
import { Put, TEXT as TEXT_TAG } from "./tags";
import { ROLES, Role, roleName } from "./transition-roles";
import { ItemRule, NEXT_STEP, SAME_STEP, WriterOptions } from "./writer-options";

/** The version of the records (src/storage/format/head.ts). */
export const STATE_VERSION: f64 = 7;

export function putHead(put: Put): void {
  const root = Root.the();
  put.object(3).text("version").number(STATE_VERSION).text("options");
  let said: u32 = 0;
  for (let role: u32 = 0; role < ROLES; role++) said += Role.of(role).isSet;
  const isLimited = root.storedMax != 0;
  put.object(4 + u32(said != 0) + u32(isLimited)).text("spec");
  putNode(put, 0, root.fields().count, 0);
  put.text("tables").object(root.tables().count);
  for (let i: u32 = 0; i < root.tables().count; i++) putTable(put, TableOptions.of(i));
  put.text("maxBytes").number(root.maxBytes);
  if (isLimited) putStored(put.text("storedBytes"));
  putSeed(put.text("seed"), root.seed);
  if (said != 0) {
    put.text("transition").object(said);
    for (let role: u32 = 0; role < ROLES; role++) if (Role.of(role).isSet != 0) put.text(roleName(role)).textAt(Role.of(role).path, Role.of(role).bytes);
  }
  putLayout(put.text("layout"));
}

export function putLayout(put: Put): void {
  const root = Root.the();
  put.object(2).text("rowBytes").number(root.rowBytes).text("leaves").array(root.fields().count);
  for (let i: u32 = 0; i < root.fields().count; i++) putPlace(put, Field.of(i));
}

export function putWriters(put: Put): void {
  const root = Root.the();
  put.array(root.writers().count);
  for (let i: u32 = 0; i < root.writers().count; i++) {
    const options = WriterOptions.of(i);
    const handle = changetype<usize>(options.writer());
    const numbers = writer_numbers(handle);
    put
      .object(6 + u32(options.nameBytes != 0) + u32(numbers != 0))
      .text("keep")
      .number(options.keep)
      .text("lanes")
      .number(options.lanes)
      .text("items")
      .array(options.rules);
    for (let k: u32 = 0; k < options.rules; k++) putRule(put, ItemRule.of(options.first + k));
    put.text("layouts").array(options.rules);
    for (let k: u32 = 0; k < options.rules; k++) put.number(0);
    put
      .text("across")
      .flag(options.across != 0)
      .text("autoreset");
    put.text(options.autoreset == NEXT_STEP ? "nextStep" : options.autoreset == SAME_STEP ? "sameStep" : "disabled");
    if (options.nameBytes != 0) put.text("name").textAt(options.name, options.nameBytes);
    if (numbers != 0) put.text("state").array(numbers);
    for (let n: u32 = 0; n < numbers; n++) put.number(writer_number(handle, n));
  }
}

/** Writes the part of the spec that contains the leaves from `first` to `end`, whose paths are equal before offset `from`. */
function putNode(put: Put, first: u32, end: u32, from: u32): void {
  const leaf = Field.of(first);
  if (from > leaf.bytes || leaf.bytes == 0) return putLeaf(put, leaf);
  const list = isList(leaf.path, from);
  let parts: u32 = 0;
  for (let i = first; i < end; i = nextPart(i, end, from)) parts += 1;
  if (list) put.array(parts);
  else put.object(parts);
  for (let i = first; i < end; ) {
    const field = Field.of(i);
    const stop = partEnd(field, from);
    const next = nextPart(i, end, from);
    if (!list) put.textAt(field.path + from, stop - from);
    putNode(put, i, next, stop + 1);
    i = next;
  }
}

/** Returns the first leaf after the i-th one whose path has a different part at `from`. */
function nextPart(i: u32, end: u32, from: u32): u32 {
  const field = Field.of(i);
  const stop = partEnd(field, from);
  do i++;
  while (i < end && partEnd(Field.of(i), from) == stop && memory.compare(Field.of(i).path + from, field.path + from, stop - from) == 0);
  return i;
}

function putLeaf(put: Put, field: Field): void {
  const text = field.dtype == TEXT;
  put
    .object(2 + u32(text) + field.isShared + u32(field.stack != 0) + u32(field.ratio != 0))
    .text("dtype")
    .text(dtypeName(field.dtype))
    .text("shape");
  // A stack is written separately.
  const skip = u32(field.stack != 0);
  putShape(put, field.dims + skip, field.rank - skip);
  if (text) put.text("maxBytes").number(field.maxBytes);
  if (field.isShared != 0) put.text("shared").textAt(field.share, field.shareBytes);
  if (field.stack != 0) put.text("stack").number(field.stack);
  if (field.ratio != 0) put.text("packed").number(field.ratio);
}

/** Writes the place of a leaf. The order of the properties matters, because layouts are compared byte by byte. */
function putPlace(put: Put, field: Field): void {
  const text = field.dtype == TEXT;
  put
    .object(5 + u32(text))
    .text("path")
    .textAt(field.path, field.bytes)
    .text("dtype")
    .text(dtypeName(field.dtype))
    .text("shape");
  putShape(put, field.dims, field.rank);
  put.text("kind").number(field.kind).text("offset").number(field.offset);
  if (text) put.text("maxBytes").number(field.maxBytes);
}

function putShape(put: Put, dims: u32, rank: u32): void {
  put.array(rank);
  for (let i: u32 = 0; i < rank; i++)
    put.number(
      load<u32>(
        Root.the()
          .dims()
          .get(dims + i),
      ),
    );
}

function putTable(put: Put, options: TableOptions): void {
  put.textAt(options.name, options.bytes).object(7).text("maxSize").number(options.maxSize).text("sampler");
  putSelector(put, options.sampler, options.samplerExponent);
  put.text("remover");
  putSelector(put, options.remover, options.removerExponent);
  putLimiter(put.text("rateLimiter"), options.limiter());
  put.text("maxTimesSampled").number(options.maxTimesSampled == 0 ? MAX_WHOLE : options.maxTimesSampled);
  put.text("maxSteps").number(min(options.maxSteps, MAX_WHOLE)).text("maxPending").number(options.maxPending);
}

function putSelector(put: Put, kind: u32, exponent: f64): void {
  const takesExponent = kindHas(kind, TAKES_EXPONENT);
  const takesMin = kindHas(kind, TAKES_MIN);
  put
    .object(1 + u32(takesExponent) + u32(takesMin))
    .text("kind")
    .text(kindName(kind));
  if (takesExponent) put.text("exponent").number(exponent);
  if (takesMin) put.text("withMin").flag((kind & WITH_MIN) != 0);
}

function putRule(put: Put, rule: ItemRule): void {
  put
    .object(6 + rule.sequence)
    .text("table")
    .textAt(TableOptions.of(rule.table).name, TableOptions.of(rule.table).bytes);
  put.text("length").number(rule.length).text("stride").number(rule.stride).text("priority");
  if (rule.largest != 0) put.text("max");
  else put.number(rule.priority);
  put
    .text("nStep")
    .number(rule.nStep)
    .text("finite")
    .flag(rule.finite != 0);
  if (rule.sequence != 0) put.text("burnIn").number(rule.burnIn);
}

/** Writes the seed in decimal. */
function putSeed(put: Put, seed: u64): void {
  let digits: u32 = 0;
  for (let place = placeOf(seed); place > 0; place /= 10) digits += 1;
  put.byte(TEXT_TAG).u32(digits).digits(seed);
}
