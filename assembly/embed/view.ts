/**
 * A view defines the draws from a table and the columns of a batch.
 *
 * VIEW, 96 bytes:
 *    0 │ kind u32    │ table u32    │  ITEMS, TRANSITIONS, MIXTURE · index of its table
 *    8 │ n u32       │ flags u32    │  steps of a window, or of a transition at most; 0: as many as items have · DISTINCT, STRATIFIED, NEWEST
 *   16 │ among u32   │ from u32     │  0: all items, or a share of them · which part of a longer item (draw/row-matrix.ts)
 *   24 │ mask u32    │ weighs u32   │  1: with a mask · 0: without weights; else the kind of their divisor, + 1
 *   32 │ gamma f64                  │  for a mixture, its seed, u64
 *   40 │ double u32  │ … u32        │  1: returns, discounts and weights are f64
 *   48 │ nexts u32   │ count u32    │  places in the list of all views; for a mixture, its sources
 *   56 │ columns u32 │ count u32    │
 *   64 │ entries u32 │ width u32    │  the size of its last batch
 *   72 │ reward u32  │ discount u32 │  leaves of transitions; NONE
 *   80 │ terminated u32 │ mixture u32 │  … · MIXTURE (mixture.ts)
 *   88 │ share f64                  │  the share of the newest or oldest items to draw from; 0: not set
 */
import { CROSS, FROM_ANY, FROM_END } from "../draw/row-matrix";
import { E_UNSUPPORTED } from "../memory/error";
import { DISTINCT, NEWEST, STRATIFIED } from "../selectors/selector";
import { MAX_LENGTH } from "../tables/slots";
import { INVALID, NOT_FOUND, Refusal, SPEC_MISMATCH } from "./refusal";
import { Root } from "./root";
import { TableOptions, tableNamed } from "./table-options";
import { TextReader, Word } from "./text-reader";

export const ITEMS: u32 = 1;
export const TRANSITIONS: u32 = 2;
export const MIXTURE: u32 = 3;

/** A flag of a mixture: the source of each row is drawn at random. */
export const RANDOM: u32 = 1;
/** A flag of a mixture: the other sources replace a source with too few items. */
export const FALLBACK: u32 = 2;

@unmanaged
export class View {
  kind: u32;
  table: u32;
  n: u32;
  flags: u32;
  among: u32;
  from: u32;
  mask: u32;
  weighs: u32;
  gamma: f64;
  double: u32;
  unused: u32;
  nexts: u32;
  nextCount: u32;
  columns: u32;
  count: u32;
  entries: u32;
  width: u32;
  reward: u32;
  discount: u32;
  terminated: u32;
  mixture: u32;
  share: f64;

  @inline
  static of(i: u32): View {
    return changetype<View>(Root.the().views().get(i));
  }

  tableOptions(): TableOptions {
    return TableOptions.of(this.table);
  }

  /** Checks whether the view can show items that are read by key instead of drawn. Returns 0 or UNSUPPORTED. */
  keeps(): i32 {
    if (this.kind == MIXTURE) return Refusal.of(E_UNSUPPORTED).put("a mixture cannot read or write items by key. Use the view of one of its sources").code;
    const isWeighed = this.weighs != 0;
    if (!isWeighed && (this.from & ~CROSS) != FROM_ANY) return 0;
    const refusal = Refusal.of(E_UNSUPPORTED)
      .put("a view with ")
      .put(isWeighed ? "weights" : "offset uniform");
    return refusal.put(" cannot read or write items by key. Use another view").code;
  }

  /** Returns the number of items from which draws currently choose; 0: all. */
  amongNow(): u32 {
    if (this.share == 0) return this.among;
    return max(1, <u32>Math.ceil(this.share * <f64>this.tableOptions().table().count));
  }
}
export const VIEW_BYTES: u32 = 96;
if (offsetof<View>() != VIEW_BYTES) ERROR("VIEW is 96 bytes");

/** Reads the line `view TABLE items …` or `view TABLE transitions …`. */
export function readView(words: TextReader): i32 {
  const at = words.entry(Root.the().views(), VIEW_BYTES, "views");
  if (at == 0) return Refusal.last();
  const view = changetype<View>(at);
  const table = tableNamed(words);
  if (table < 0) return table;
  view.table = table;
  view.gamma = -1;
  view.nexts = Root.the().nexts().count;
  if (words.want("the kind of the view (items or transitions)") != 0) return INVALID;
  view.kind = words.is("items") ? ITEMS : words.is("transitions") ? TRANSITIONS : 0;
  if (view.kind == 0) return words.unknown("items or transitions");
  // By default, a view of items also shows the steps of an item after the end of an episode.
  if (view.kind == ITEMS) view.from = CROSS;
  while (words.next()) {
    const code = readDraw(words, view);
    if (code != 0) return code;
  }
  if (view.kind == TRANSITIONS && view.gamma < 0) return words.here(INVALID).put("gamma is required for a view of transitions, such as gamma 0.99").code;
  return 0;
}

/** Reads one option, whose name was read. Returns 0 or INVALID. */
function readDraw(words: TextReader, view: View): i32 {
  let code = 0;
  if (words.is("distinct")) view.flags |= DISTINCT;
  else if (words.is("stratified")) view.flags |= STRATIFIED;
  else if (words.is("among")) return readAmong(words, view);
  else if (words.is("weights")) {
    code = words.want("the word after weights");
    view.weighs = words.is("none") ? 1 : words.is("batch") ? 2 : words.is("table") ? 3 : 0;
    if (code == 0 && view.weighs == 0) return words.refused("the word after weights", "none, batch or table");
  } else return view.kind == ITEMS ? readItems(words, view) : readTransitions(words, view);
  return code;
}

/** Reads `among N`, `among newest N`, `among oldest N` or `among newest share X`. The first word was read already. */
function readAmong(words: TextReader, view: View): i32 {
  view.flags &= ~NEWEST;
  view.share = 0;
  view.among = 0;
  let code = words.want("among");
  if (code != 0) return code;
  const newest = words.is("newest");
  if (newest) view.flags |= NEWEST;
  if (newest || words.is("oldest")) {
    code = words.want("the number of items after among");
    if (code != 0) return code;
    if (words.is("share")) {
      code = words.number("the share of among", f64.MIN_VALUE, 1);
      view.share = words.value;
      return code;
    }
  }
  code = words.integerHere("among", 1, u32.MAX_VALUE);
  view.among = <u32>words.value;
  return code;
}

function readItems(words: TextReader, view: View): i32 {
  if (words.is("cross")) view.from |= CROSS;
  else if (words.is("cut")) view.from &= ~CROSS;
  else if (words.is("mask")) view.mask = 1;
  else if (words.is("length")) {
    const code = words.integer("length", 1, MAX_LENGTH);
    view.n = <u32>words.value;
    return code;
  } else if (words.is("offset")) {
    const code = words.want("the word after offset");
    if (code != 0) return code;
    view.from &= CROSS;
    if (words.is("end")) view.from |= FROM_END;
    else if (words.is("uniform")) view.from |= FROM_ANY;
    else if (!words.is("start")) return words.refused("the word after offset", "start, end or uniform");
  } else return words.unknown("length, offset, cross, cut, mask, distinct, stratified, among or weights");
  return 0;
}

function readTransitions(words: TextReader, view: View): i32 {
  if (words.is("f64")) view.double = 1;
  else if (words.is("n")) {
    const code = words.integer("n", 1, MAX_LENGTH);
    view.n = <u32>words.value;
    return code;
  } else if (words.is("gamma")) {
    const code = words.number("gamma", 0, 1);
    view.gamma = words.value;
    return code;
  } else if (words.is("next")) {
    const at = words.entry(Root.the().nexts(), offsetof<Word>(), "names after next");
    view.nextCount += 1;
    return at == 0 ? Refusal.last() : words.keep("the name after next", at);
  } else return words.unknown("gamma, n, next, f64, distinct, stratified, among or weights");
  return 0;
}

/** Returns the view of a number that a call names; null, with a refusal, if it does not exist. */
export function viewOf(i: u32): View | null {
  const count = Root.the().views().count;
  if (i < count) return View.of(i);
  const refusal = Refusal.of(NOT_FOUND).put("view must be the number of a view in the text");
  if (count != 0) refusal.put(", up to ").number(count - 1);
  refusal.put(", got ").number(i);
  return null;
}

/** Refuses a view of transitions of a table that has items of a single step. Returns SPEC_MISMATCH. */
export function singleRow(options: TableOptions): i32 {
  const refusal = Refusal.of(SPEC_MISMATCH).put("table ").word(options.name, options.bytes);
  return refusal.put(
    " has items of one step, or items that begin with the final step of an episode. Such items are not transitions. Set nStep in its rules, or a length of at least 2",
  ).code;
}

/** Refuses a view of transitions because no item has n + 1 steps. @param longest rows of the longest item stored, or made by a rule */
export function tooManySteps(view: View, longest: u32): i32 {
  const refusal = Refusal.of(INVALID)
    .put("n must be at most ")
    .number(longest - 1)
    .put(", because no rule or item of table ");
  return refusal.word(view.tableOptions().name, view.tableOptions().bytes).put(" has more than ").number(longest).put(" steps, got ").number(view.n).code;
}
