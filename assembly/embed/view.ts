/**
 * What is drawn of a table, and what a batch of it shows.
 *
 * VIEW, 88 bytes:
 *    0 │ kind u32    │ table u32    │  ITEMS, TRANSITIONS · index of its table
 *    8 │ n u32       │ flags u32    │  steps of a window, or of a transition at most; 0: as many as items have · DISTINCT, STRATIFIED
 *   16 │ among u32   │ from u32     │  0: all items · which part of a longer item (draw/row-matrix.ts)
 *   24 │ mask u32    │ weighs u32   │  1: with a mask · 0: without weights; else what divides them, + 1
 *   32 │ gamma f64                  │
 *   40 │ double u32  │ … u32        │  1: returns, discounts and weights are f64
 *   48 │ nexts u32   │ count u32    │  in the list of all
 *   56 │ columns u32 │ count u32    │
 *   64 │ entries u32 │ width u32    │  of its last batch
 *   72 │ reward u32  │ discount u32 │  leaves of transitions; NONE
 *   80 │ terminated u32 │ … u32     │
 */
import { CROSS, FROM_ANY, FROM_END } from "../draw/row-matrix";
import { DISTINCT, STRATIFIED } from "../selectors/selector";
import { MAX_LENGTH } from "../tables/slots";
import { INVALID, NOT_FOUND, Refusal, SPEC_MISMATCH } from "./refusal";
import { Root } from "./root";
import { TableOptions, tableNamed } from "./table-options";
import { TextReader, Word } from "./text-reader";

export const ITEMS: u32 = 1;
export const TRANSITIONS: u32 = 2;

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
  unused2: u32;

  @inline
  static of(i: u32): View {
    return changetype<View>(Root.the().views().get(i));
  }

  tableOptions(): TableOptions {
    return TableOptions.of(this.table);
  }
}
const VIEW_BYTES: u32 = 88;
if (offsetof<View>() != VIEW_BYTES) ERROR("VIEW is 88 bytes");

/** view TABLE items … · view TABLE transitions … */
export function readView(words: TextReader): i32 {
  const at = words.entry(Root.the().views(), VIEW_BYTES, "views");
  if (at == 0) return Refusal.last();
  const view = changetype<View>(at);
  const table = tableNamed(words);
  if (table < 0) return table;
  view.table = table;
  view.gamma = -1;
  view.nexts = Root.the().nexts().count;
  if (words.want("items or transitions") != 0) return INVALID;
  view.kind = words.is("items") ? ITEMS : words.is("transitions") ? TRANSITIONS : 0;
  if (view.kind == 0) return words.unknown("items or transitions");
  // An item is shown whole.
  if (view.kind == ITEMS) view.from = CROSS;
  while (words.next()) {
    const code = readDraw(words, view);
    if (code != 0) return code;
  }
  if (view.kind == TRANSITIONS && view.gamma < 0) return words.here(INVALID).put("a view of transitions must say gamma: gamma 0.99").code;
  return 0;
}

/** One option, whose name was read. 0, or INVALID. */
function readDraw(words: TextReader, view: View): i32 {
  let code = 0;
  if (words.is("distinct")) view.flags |= DISTINCT;
  else if (words.is("stratified")) view.flags |= STRATIFIED;
  else if (words.is("among")) {
    code = words.integer("among", 1, u32.MAX_VALUE);
    view.among = <u32>words.value;
  } else if (words.is("weights")) {
    code = words.want("the word behind weights");
    view.weighs = words.is("none") ? 1 : words.is("batch") ? 2 : words.is("table") ? 3 : 0;
    if (code == 0 && view.weighs == 0) return words.unknown("none, batch or table");
  } else return view.kind == ITEMS ? readItems(words, view) : readTransitions(words, view);
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
    const code = words.want("the word behind offset");
    if (code != 0) return code;
    view.from &= CROSS;
    if (words.is("end")) view.from |= FROM_END;
    else if (words.is("uniform")) view.from |= FROM_ANY;
    else if (!words.is("start")) return words.unknown("start, end or uniform");
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
    const at = words.entry(Root.the().nexts(), offsetof<Word>(), "names behind next");
    view.nextCount += 1;
    return at == 0 ? Refusal.last() : words.keep("the name behind next", at);
  } else return words.unknown("gamma, n, next, f64, distinct, stratified, among or weights");
  return 0;
}

/** The view of a number that a call names; null, with a refusal, where there is none. */
export function viewOf(i: u32): View | null {
  const count = Root.the().views().count;
  if (i < count) return View.of(i);
  const refusal = Refusal.of(NOT_FOUND).put("view must be the number of a line of the text that begins with view");
  if (count != 0) refusal.put(", up to ").number(count - 1);
  refusal.put(", got ").number(i);
  return null;
}

/** Refuses transitions of items of a single step. */
export function singleRow(options: TableOptions): i32 {
  const refusal = Refusal.of(SPEC_MISMATCH).put("table ").word(options.name, options.bytes);
  return refusal.put(
    " has items of a single step, which are no transitions, or that begin with the last step of an episode: give its rules nStep, or a length of 2 and more",
  ).code;
}

/** @param longest rows of the longest item that there is, or that a rule makes */
export function tooManySteps(view: View, longest: u32): i32 {
  const refusal = Refusal.of(INVALID)
    .put("n must be at most ")
    .number(longest - 1)
    .put(", since no rule or item of table ");
  return refusal.word(view.tableOptions().name, view.tableOptions().bytes).put(" has more than ").number(longest).put(" steps, got ").number(view.n).code;
}
