/**
 * Defines the options of a writer in a text, its rules, and the writer made from them.
 *
 * WRITER_OPTIONS, 56 bytes:
 *    0 │ handle u32    │ longest u32 │  WRITER (writer/writer.ts), once the writer is made · steps of its longest rule
 *    8 │ lanes u32     │ keep u32  │  0: as many as its longest rule needs, and at least 32
 *   16 │ across u32    │ autoreset u32 │  DISABLED, NEXT_STEP, SAME_STEP; 0: not set
 *   24 │ first u32     │ rules u32 │  the place of its rules in the list of all rules
 *   32 │ transitions u32 │ finite u32 │  1: some rule makes transitions or sequences · 1: such a rule requires finite rewards
 *   40 │ name u32  │ nameBytes u32 │  UTF-8; 0 bytes: no name
 *   48 │ saved u32 │ isRequested u32 │  1: the writer is from the snapshot · in a host's line that names such a writer, the number of that writer + 1; in that writer, 1
 *
 * ITEM_RULE, 40 bytes: │ table u32 │ length u32 │ stride u32 │ nStep u32 │ priority f64 │ largest u32 │ finite u32 │ sequence u32 │ burnIn u32 │
 *   sequence: 1 if the rule makes sequences
 */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { MAX_LENGTH } from "../tables/slots";
import { writer_close } from "../writer/ends";
import { LARGEST, SEQUENCE, TAILS } from "../writer/rule";
import { Writer, writer_bytes, writer_init, writer_rule } from "../writer/writer";
import { INVALID, NOT_FOUND, noRoom, Refusal, SPEC_MISMATCH } from "./refusal";
import { Root } from "./root";
import { TableOptions, tableNamed } from "./table-options";
import { sameWord, TextReader } from "./text-reader";
import { ACTION, numberIn, OBSERVATION, REWARD, required } from "./transition-roles";

const DISABLED: u32 = 1;
export const NEXT_STEP: u32 = 2;
export const SAME_STEP: u32 = 3;
const DEFAULT_KEEP: u32 = 32;
/** The largest burn-in that a column layout can store (tables/slots.ts). */
export const MAX_BURN_IN: u32 = 32766;
export const MAX_LANES: f64 = 65536;

@unmanaged
export class WriterOptions {
  handle: u32;
  longest: u32;
  lanes: u32;
  keep: u32;
  across: u32;
  autoreset: u32;
  first: u32;
  rules: u32;
  transitions: u32;
  finite: u32;
  name: u32;
  nameBytes: u32;
  saved: u32;
  isRequested: u32;

  @inline
  static of(i: u32): WriterOptions {
    return changetype<WriterOptions>(Root.the().writers().get(i));
  }

  /** Sets the defaults of a writer. */
  begin(): void {
    this.lanes = 1;
    this.first = Root.the().rules().count;
  }

  writer(): Writer {
    return changetype<Writer>(<usize>this.handle);
  }
}
const WRITER_OPTIONS_BYTES: u32 = 56;
if (offsetof<WriterOptions>() != WRITER_OPTIONS_BYTES) ERROR("WRITER_OPTIONS is 56 bytes");

@unmanaged
export class ItemRule {
  table: u32;
  length: u32;
  stride: u32;
  nStep: u32;
  priority: f64;
  largest: u32;
  finite: u32;
  sequence: u32;
  burnIn: u32;

  /** Whether returns are computed from its items. */
  hasReturns(): bool {
    return this.nStep != 0 || this.sequence != 0;
  }

  @inline
  static of(i: u32): ItemRule {
    return changetype<ItemRule>(Root.the().rules().get(i));
  }
}
const ITEM_RULE_BYTES: u32 = 40;
if (offsetof<ItemRule>() != ITEM_RULE_BYTES) ERROR("ITEM_RULE is 40 bytes");

/** Adds a writer with the defaults; null, with a refusal, if there are too many. */
export function beginWriter(words: TextReader): WriterOptions | null {
  const at = words.entry(Root.the().writers(), WRITER_OPTIONS_BYTES, "writers");
  if (at == 0) return null;
  const options = changetype<WriterOptions>(at);
  options.begin();
  options.saved = words.saved;
  return options;
}

/** Reads the line `writer [name NAME] [lanes N] [keep N] [across] [autoreset …]`. */
export function readWriter(words: TextReader): i32 {
  const options = beginWriter(words);
  if (options === null) return Refusal.last();
  while (words.next()) {
    let code = 0;
    if (words.is("name")) {
      code = words.want("the name of a writer");
      if (code == 0) code = nameWriter(words, options);
    } else if (words.is("lanes")) {
      code = words.integer("lanes", 1, MAX_LANES);
      options.lanes = <u32>words.value;
    } else if (words.is("keep")) {
      code = words.integer("keep", 1, MAX_LENGTH);
      options.keep = <u32>words.value;
    } else if (words.is("across")) {
      options.across = 1;
    } else if (words.is("autoreset")) {
      code = words.want("the word after autoreset");
      options.autoreset = autoresetNamed(words);
      if (code == 0 && options.autoreset == 0) return words.refused("the word after autoreset", "disabled, nextStep or sameStep");
    } else {
      return words.unknown("name, lanes, keep, across or autoreset");
    }
    if (code != 0) return code;
  }
  return 0;
}

/** Returns the number of the word after autoreset; 0: none. */
export function autoresetNamed(words: TextReader): u32 {
  return words.is("disabled") ? DISABLED : words.is("nextStep") ? NEXT_STEP : words.is("sameStep") ? SAME_STEP : 0;
}

/** Sets the name of a writer. If a writer of the snapshot has the same name, the line refers to that writer. Returns 0 or INVALID. */
export function nameWriter(words: TextReader, options: WriterOptions): i32 {
  options.name = words.word;
  options.nameBytes = words.bytes;
  if (options.nameBytes == 0) return words.got(words.here(INVALID).put("the name of a writer must not be empty"));
  const writers = Root.the().writers();
  for (let i: u32 = 0; i + 1 < writers.count; i++) {
    const other = WriterOptions.of(i);
    if (!sameWord(other.name, other.nameBytes, options.name, options.nameBytes)) continue;
    if (other.saved == options.saved || other.isRequested != 0)
      return words.here(INVALID).put("the name of a writer must be unique, got ").word(options.name, options.nameBytes).code;
    other.isRequested = 1;
    options.isRequested = i + 1;
  }
  return 0;
}

/** Reads the line `rule TABLE length N …`, `rule TABLE nStep N …` or `rule TABLE sequence N …`, which belongs to the last writer line. */
export function readRule(words: TextReader): i32 {
  if (Root.the().writers().count == 0 && !firstWriter()) return noRoom();
  const rule = beginRule(words);
  if (rule === null) return Refusal.last();
  const table = tableNamed(words);
  if (table < 0) return table;
  rule.table = table;
  let priority = false;
  let stride = false;
  while (words.next()) {
    let code = 0;
    if (words.is("length")) {
      code = words.integer("length", 1, MAX_LENGTH);
      rule.length = <u32>words.value;
    } else if (words.is("nStep")) {
      code = words.integer("nStep", 1, MAX_LENGTH - 1);
      rule.nStep = <u32>words.value;
    } else if (words.is("sequence")) {
      code = words.integer("sequence", 2, MAX_LENGTH - 1);
      rule.length = <u32>words.value;
      rule.sequence = 1;
    } else if (words.is("burnIn")) {
      code = words.integer("burnIn", 0, MAX_BURN_IN);
      rule.burnIn = <u32>words.value;
    } else if (words.is("stride")) {
      code = words.integer("stride", 1, MAX_LENGTH);
      rule.stride = <u32>words.value;
      stride = true;
    } else if (words.is("priority")) {
      priority = true;
      if (words.want("the priority") == 0 && words.is("max")) rule.largest = 1;
      else if (words.isNumber(0, f64.MAX_VALUE)) rule.priority = words.value;
      else return words.refused("the priority", "max, or a number of at least 0 (at most 15 digits, exponents from e-22 to e22)");
    } else if (words.is("infinite")) {
      rule.finite = 0;
    } else {
      return words.unknown("length, nStep, sequence, burnIn, stride, priority or infinite");
    }
    if (code != 0) return code;
  }
  return endRule(words, rule, priority, stride);
}

/** Adds a rule with the defaults; null, with a refusal, if there are too many. */
export function beginRule(words: TextReader): ItemRule | null {
  const at = words.entry(Root.the().rules(), ITEM_RULE_BYTES, "rules");
  if (at == 0) return null;
  const rule = changetype<ItemRule>(at);
  rule.stride = 1;
  rule.priority = 1;
  rule.finite = 1;
  return rule;
}

/** Checks all words of a rule of the last writer together. `priority`, `stride`: whether these words were set. Returns 0 or INVALID. */
export function endRule(words: TextReader, rule: ItemRule, priority: bool, stride: bool): i32 {
  const options = WriterOptions.of(Root.the().writers().count - 1);
  if ((rule.length == 0) == (rule.nStep == 0)) return words.here(INVALID).put("a rule must have exactly one of length, nStep and sequence").code;
  if (!rule.hasReturns() && rule.finite == 0) return words.here(INVALID).put("infinite needs nStep or sequence in the same rule").code;
  if (rule.nStep != 0 && stride) return words.here(INVALID).put("stride needs length or sequence in the same rule").code;
  if (rule.sequence == 0 && rule.burnIn != 0) return words.here(INVALID).put("burnIn needs sequence in the same rule").code;
  if (rule.sequence != 0) {
    if (rule.length < rule.burnIn + 2) return words.here(INVALID).put("sequence must be at least burnIn + 2, got ").number(rule.length).code;
    const longest = rule.length - rule.burnIn - 1;
    if (!stride) rule.stride = longest;
    if (rule.stride > longest) {
      const refusal = words.here(INVALID).put("the stride of a sequence must be at most ").number(longest);
      return refusal.put(" (the number of its steps after the burn-in, without the last step), got ").number(rule.stride).code;
    }
  }
  if (rule.hasReturns()) {
    if (rule.nStep != 0) rule.length = rule.nStep + 1;
    if (!priority) rule.largest = u32(TableOptions.of(rule.table).weighs());
    options.transitions = 1;
    options.finite |= rule.finite;
  }
  options.rules += 1;
  options.longest = max(options.longest, rule.length);
  return 0;
}

/** Checks all lines of each writer together, and makes sure that there is a writer. Returns 0, or the code of a refusal. */
export function settleWriters(): i32 {
  const writers = Root.the().writers();
  if (writers.count == 0 && !firstWriter()) return noRoom();
  for (let i: u32 = 0; i < writers.count; i++) {
    const options = WriterOptions.of(i);
    // A sequence rule across episodes needs one more step, which shows whether a sequence begins with the first step of an episode.
    for (let k: u32 = 0; options.across != 0 && k < options.rules; k++) {
      const rule = ItemRule.of(options.first + k);
      options.longest = max(options.longest, rule.length + rule.sequence);
    }
    if (options.keep == 0) options.keep = max(DEFAULT_KEEP, options.longest);
    if (options.keep < options.longest) {
      return Refusal.of(INVALID)
        .put("keep must be at least ")
        .number(options.longest)
        .put(", the length of the longest rule of the writer, got ")
        .number(options.keep).code;
    }
    if (options.transitions == 0) continue;
    let code = required(OBSERVATION, "an nStep or sequence rule");
    if (code == 0) code = required(ACTION, "an nStep or sequence rule");
    if (code == 0) code = required(REWARD, "an nStep or sequence rule");
    if (code == 0) code = min(numberIn(REWARD), 0);
    if (code != 0) return code;
    if (options.lanes == 1 || options.autoreset != 0) continue;
    return Refusal.of(INVALID).put("autoreset is required for a writer with lanes and nStep or sequence rules: disabled, nextStep or sameStep").code;
  }
  return joinNames();
}

/** Joins lines with the snapshot's writers of the same name, which must have the same options. Returns 0 or SPEC_MISMATCH. */
function joinNames(): i32 {
  const writers = Root.the().writers();
  for (let i: u32 = 0; i < writers.count; ) {
    const options = WriterOptions.of(i);
    if (options.saved != 0 || options.isRequested == 0) {
      i++;
      continue;
    }
    const code = mustMatch(options, WriterOptions.of(options.isRequested - 1));
    if (code != 0) return code;
    writers.remove(i);
  }
  return 0;
}

function mustMatch(options: WriterOptions, there: WriterOptions): i32 {
  if (options.lanes != there.lanes) return differs(there, "lanes").number(there.lanes).put(", as in the snapshot, got ").number(options.lanes).code;
  if (options.keep != there.keep) return differs(there, "keep").number(there.keep).put(", as in the snapshot, got ").number(options.keep).code;
  if (options.across != there.across)
    return differs(there, "across")
      .put(there.across != 0 ? "set" : "omitted")
      .put(", as in the snapshot").code;
  if (max(options.autoreset, DISABLED) != max(there.autoreset, DISABLED)) return differs(there, "autoreset").put("the same as in the snapshot").code;
  if (options.rules != there.rules)
    return differs(there, "the number of rules").number(there.rules).put(", as in the snapshot, got ").number(options.rules).code;
  for (let k: u32 = 0; k < there.rules; k++)
    if (memory.compare(changetype<usize>(ItemRule.of(options.first + k)), changetype<usize>(ItemRule.of(there.first + k)), ITEM_RULE_BYTES) != 0)
      return differs(there, "the rules").put("the same as in the snapshot, but rule ").number(k).put(" differs").code;
  return 0;
}

/** Begins a refusal: `what of the writer "name" must be `. */
function differs(there: WriterOptions, what: string): Refusal {
  return Refusal.of(SPEC_MISMATCH).put(what).put(" of the writer ").word(there.name, there.nameBytes).put(" must be ");
}

/** Ends the open episodes of the snapshot's writers, and makes the items still due, as closing a writer does. The writers remain usable. */
export function closeSaved(): void {
  for (let i: u32 = 0; i < Root.the().writers().count; i++) if (WriterOptions.of(i).saved != 0) writer_close(WriterOptions.of(i).handle);
}

/** Makes the writers. Returns 0, or the code of a refusal. */
export function makeWriters(): i32 {
  const root = Root.the();
  for (let i: u32 = 0; i < root.writers().count; i++) {
    const options = WriterOptions.of(i);
    const bytes = writer_bytes(options.lanes, options.rules, options.keep);
    options.handle = bytes > <f64>MAX_BYTES ? 0 : arena_alloc(<u32>bytes);
    if (options.handle == 0)
      return Refusal.of(E_OUT_OF_MEMORY)
        .put("a writer takes ")
        .number(bytes)
        .put(" bytes, but the limit bytes is ")
        .number(root.maxBytes)
        .put(". Increase bytes, or lower keep or lanes").code;
    const reward = options.finite != 0 ? <u32>numberIn(REWARD) + 1 : 0;
    writer_init(options.handle, root.pool, options.lanes, options.rules, options.keep, options.across, u32(options.autoreset == NEXT_STEP), reward);
    for (let k: u32 = 0; k < options.rules; k++) {
      const rule = ItemRule.of(options.first + k);
      const flags = (rule.nStep != 0 ? TAILS : 0) + (rule.sequence != 0 ? SEQUENCE : 0) + (rule.largest != 0 ? LARGEST : 0);
      const code = writer_rule(options.handle, k, TableOptions.of(rule.table).handle, rule.length, rule.stride, rule.burnIn, rule.priority, flags);
      if (code == E_OUT_OF_MEMORY) return noRoom();
      if (code != 0)
        return Refusal.of(INVALID).put("the priority of a rule must have a weight (priority^exponent) of at most 2^990, got ").number(rule.priority).code;
    }
  }
  return 0;
}

/** Returns the length of the longest item that rules make for a table; 0 without a rule. */
export function longestRule(table: u32): u32 {
  const rules = Root.the().rules();
  let longest: u32 = 0;
  for (let i: u32 = 0; i < rules.count; i++) if (ItemRule.of(i).table == table) longest = max(longest, ItemRule.of(i).length);
  return longest;
}

/** Whether a rule makes single-step items for a table. */
export function makesSingles(table: u32): bool {
  const rules = Root.the().rules();
  for (let i: u32 = 0; i < rules.count; i++) if (ItemRule.of(i).table == table && ItemRule.of(i).length == 1) return true;
  return false;
}

/** Returns the writer with the number that a call passes; null, with a refusal, if there is no such writer. */
export function writerOf(i: u32): WriterOptions | null {
  const count = Root.the().writers().count;
  if (i < count) return WriterOptions.of(i);
  Refusal.of(NOT_FOUND)
    .put("writer must be the number of a writer in the text, up to ")
    .number(count - 1)
    .put(", got ")
    .number(i);
  return null;
}

/** Adds the default writer if no line defines one; false if there is no memory. */
function firstWriter(): bool {
  const at = Root.the().writers().push(WRITER_OPTIONS_BYTES);
  if (at != 0) changetype<WriterOptions>(at).begin();
  return at != 0;
}
