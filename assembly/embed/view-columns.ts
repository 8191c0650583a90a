/**
 * Defines the columns of a view: the name of each column, and the leaf or number that the column shows.
 *
 * VIEW_COLUMN, 32 bytes, a column:
 *    0 │ head u32  │ rest u32 │ bytes u32 │ source u32 │  the beginning of its name (below) · the rest of the name, in the text · FIRST, LAST, ALL, DRAWN, MASKED, …
 *   16 │ which u32 │ dtype u32 │ at u32   │ … u32      │  a leaf, or a column of the draw · the dtype of that column of the draw · its address in the last batch
 */
import { DISCOUNT, KEY, LENGTH, PRIORITY, PROBABILITY, RETURN, STEPS, TABLE_SIZE, TERMINATED, TIMES_SAMPLED, TRUNCATED, WEIGHT } from "../draw/draw";
import { E_UNSUPPORTED } from "../memory/error";
import { dtypeBytes, F32, F64, U8, U32 } from "../rows/leaf";
import { Field, partEnd } from "./field";
import { NOT_FOUND, noRoom, Refusal, SPEC_MISMATCH } from "./refusal";
import { Root } from "./root";
import { sameWord, Word } from "./text-reader";
import { ACTION, DISCOUNT as DISCOUNTS, numberIn, OBSERVATION, REWARD, Role, required, TERMINATED as TERMINATES } from "./transition-roles";
import { isText } from "./utf8";
import { ITEMS, MIXTURE, singleRow, tooManySteps, View } from "./view";
import { longestRule, makesSingles } from "./writer-options";

/**
 * The source of a column's values. FIRST, LAST and ALL are a leaf at the first step, at the bootstrap, and at all steps of a window. DRAWN is a column of the
 * draw, and MASKED the mask.
 */
export const FIRST: u32 = 0;
export const LAST: u32 = 1;
export const ALL: u32 = 2;
export const DRAWN: u32 = 3;
export const MASKED: u32 = 4;
/** The column contains the number of the mixture's source that each row comes from. */
export const MIXED: u32 = 5;
/** The column contains the returns of a reward of several numbers, one return per component. */
export const SUMMED: u32 = 6;

/**
 * The beginning of a column's name. PLAIN is none, NEXT is `next` before the rest, which then begins with a capital letter, and the others are the words that
 * `headName` returns. COLUMN + i is the i-th column of the draw.
 */
export const PLAIN: u32 = 0;
export const OBSERVED: u32 = 1;
export const DONE: u32 = 2;
export const NEXT_OBSERVED: u32 = 3;
export const NEXT_DONE: u32 = 4;
export const NEXT: u32 = 5;
export const MASK: u32 = 6;
export const SOURCE: u32 = 7;
export const COLUMN: u32 = 16;

@unmanaged
export class ViewColumn {
  head: u32;
  rest: u32;
  bytes: u32;
  source: u32;
  which: u32;
  dtype: u32;
  at: u32;
  unused: u32;

  /** Returns the k-th column of a view. */
  @inline
  static of(view: View, k: u32): ViewColumn {
    return changetype<ViewColumn>(
      Root.the()
        .columns()
        .get(view.columns + k),
    );
  }

  /** Returns the number of bytes of an entry's returns, one return per component. */
  returnBytes(): u32 {
    return Field.of(this.which).size * dtypeBytes(this.dtype);
  }

  /** Whether the column's values come from a leaf. */
  isLeaf(): bool {
    return this.source <= ALL;
  }
}
const VIEW_COLUMN_BYTES: u32 = 32;
if (offsetof<ViewColumn>() != VIEW_COLUMN_BYTES) ERROR("VIEW_COLUMN is 32 bytes");

/** Determines the columns of each view, after the leaves are in order and all rules are known. Returns 0, or the code of a refusal. */
export function settleViews(): i32 {
  const views = Root.the().views();
  for (let i: u32 = 0; i < views.count; i++) {
    const view = View.of(i);
    if (view.kind == MIXTURE) continue;
    view.columns = Root.the().columns().count;
    const code = view.kind == ITEMS ? settleItems(view) : settleTransitions(view);
    if (code != 0) return code;
    const options = view.tableOptions();
    if (view.weighs == 3 && options.lacksMin())
      return Refusal.of(E_UNSUPPORTED).put("weights table needs the sampler prioritizedWithMin in table ").word(options.name, options.bytes).code;
    view.count = Root.the().columns().count - view.columns;
  }
  return 0;
}

function settleItems(view: View): i32 {
  const count = Root.the().fields().count;
  for (let i: u32 = 0; i < count; i++) if (!leafColumn(PLAIN, i, 0, ALL)) return noRoom();
  let done = drawnColumn(LENGTH, U32) && drawnColumn(KEY, F64) && drawnColumn(PROBABILITY, F64) && drawnColumn(PRIORITY, F64);
  done = done && drawnColumn(TIMES_SAMPLED, U32) && drawnColumn(TABLE_SIZE, U32) && (view.weighs == 0 || drawnColumn(WEIGHT, F64));
  if (done && view.mask != 0) done = addColumn(MASK, 0, 0, MASKED, 0, U8);
  return done ? 0 : noRoom();
}

function settleTransitions(view: View): i32 {
  let code = required(REWARD, "a view of transitions");
  if (code == 0) code = required(OBSERVATION, "a view of transitions");
  if (code == 0) code = required(ACTION, "a view of transitions");
  if (code == 0) code = min(min(numberIn(REWARD), numberIn(DISCOUNTS)), min(numberIn(TERMINATES), 0));
  if (code != 0) return code;
  view.reward = numberIn(REWARD);
  view.discount = numberIn(DISCOUNTS);
  view.terminated = numberIn(TERMINATES);
  code = checkNexts(view);
  if (code == 0) code = checkNames(view);
  if (code == 0) code = checkLengths(view);
  if (code != 0) return code;
  let done = roleColumns(OBSERVATION, OBSERVED, FIRST) && roleColumns(ACTION, DONE, FIRST) && otherColumns(view, 0, 0, PLAIN, FIRST);
  done = done && roleColumns(OBSERVATION, NEXT_OBSERVED, LAST);
  for (let k: u32 = 0; done && k < view.nextCount; k++) {
    const next = nextOf(view, k);
    if (isAgain(view, k)) continue;
    done = isAction(next) ? roleColumns(ACTION, NEXT_DONE, LAST) : otherColumns(view, next.at, next.bytes, NEXT, LAST);
  }
  const float = view.double != 0 ? F64 : F32;
  done =
    done &&
    returnsColumn(view.reward, float) &&
    drawnColumn(DISCOUNT, float) &&
    drawnColumn(STEPS, U32) &&
    drawnColumn(TERMINATED, U8) &&
    drawnColumn(TRUNCATED, U8);
  done = done && (view.weighs == 0 || drawnColumn(WEIGHT, float)) && drawnColumn(KEY, F64);
  return done ? 0 : noRoom();
}

/** Checks that the view can show the items that rules make for its table. Returns 0, or the code of a refusal. */
function checkLengths(view: View): i32 {
  const longest = longestRule(view.table);
  if (makesSingles(view.table)) return singleRow(view.tableOptions());
  return longest == 0 || view.n < longest ? 0 : tooManySteps(view, longest);
}

/** Checks that each name after `next` in a line is `action`, or the first part of the path of a leaf without a role. Returns 0 or NOT_FOUND. */
function checkNexts(view: View): i32 {
  for (let k: u32 = 0; k < view.nextCount; k++) {
    const next = nextOf(view, k);
    let found = isAction(next);
    for (let i: u32 = 0; i < Root.the().fields().count; i++)
      found = found || (isOther(view, i) && sameWord(Field.of(i).path, topBytes(Field.of(i)), next.at, next.bytes));
    if (found) continue;
    return Refusal.of(NOT_FOUND).put("each name after next must be action, or the first part of the path of another leaf, got ").word(next.at, next.bytes).code;
  }
  return 0;
}

/** Checks that no leaf without a role begins its path with the name of another column of the view. Returns 0 or SPEC_MISMATCH. */
function checkNames(view: View): i32 {
  for (let i: u32 = 0; i < Root.the().fields().count; i++) {
    const field = Field.of(i);
    if (!isOther(view, i)) continue;
    const bytes = topBytes(field);
    let taken = isText(field.path, bytes, "action") || isText(field.path, bytes, "keys");
    for (let head = OBSERVED; head <= NEXT_OBSERVED; head++) taken = taken || isText(field.path, bytes, headName(head));
    for (let column = WEIGHT; column <= TRUNCATED; column++) taken = taken || isText(field.path, bytes, headName(COLUMN + column));
    for (let k: u32 = 0; k < view.nextCount; k++) taken = taken || isNextOf(field.path, bytes, nextOf(view, k));
    if (taken)
      return Refusal.of(SPEC_MISMATCH).put("the leaf ").word(field.path, field.bytes).put(" has the same name as a column of transitions. Rename the leaf")
        .code;
  }
  return 0;
}

/** Returns the word with which the name of a column begins. */
export function headName(head: u32): string {
  switch (head) {
    case OBSERVED:
      return "observation";
    case DONE:
      return "action";
    case NEXT_OBSERVED:
      return "nextObservation";
    case NEXT_DONE:
      return "nextAction";
    case NEXT:
      return "next";
    case MASK:
      return "mask";
    case SOURCE:
      return "source";
    case COLUMN + KEY:
      return "keys";
    case COLUMN + PROBABILITY:
      return "probabilities";
    case COLUMN + PRIORITY:
      return "priorities";
    case COLUMN + TIMES_SAMPLED:
      return "timesSampled";
    case COLUMN + TABLE_SIZE:
      return "tableSizes";
    case COLUMN + LENGTH:
      return "lengths";
    case COLUMN + WEIGHT:
      return "weights";
    case COLUMN + RETURN:
      return "returns";
    case COLUMN + DISCOUNT:
      return "discounts";
    case COLUMN + STEPS:
      return "steps";
    case COLUMN + TERMINATED:
      return "terminated";
    case COLUMN + TRUNCATED:
      return "truncated";
    default:
      return "";
  }
}

function nextOf(view: View, k: u32): Word {
  return changetype<Word>(
    Root.the()
      .nexts()
      .get(view.nexts + k),
  );
}

/** Whether the k-th name after `next` occurs earlier in the list. */
function isAgain(view: View, k: u32): bool {
  for (let j: u32 = 0; j < k; j++) if (sameWord(nextOf(view, j).at, nextOf(view, j).bytes, nextOf(view, k).at, nextOf(view, k).bytes)) return true;
  return false;
}

function isAction(name: Word): bool {
  return isText(name.at, name.bytes, "action");
}

/** Whether a leaf plays no role in the transitions of a view. */
function isOther(view: View, i: u32): bool {
  const field = Field.of(i);
  if (Role.of(OBSERVATION).has(field) || Role.of(ACTION).has(field)) return false;
  return i != view.reward && i != view.discount && i != view.terminated;
}

/** Returns the number of bytes of the first part of a path. */
function topBytes(field: Field): u32 {
  return partEnd(field, 0);
}

/** Whether the name at `at` consists of `next` and of `name` with a capital letter, such as `nextMask` for `mask`. */
function isNextOf(at: u32, bytes: u32, name: Word): bool {
  if (name.bytes == 0 || bytes != name.bytes + 4 || !isText(at, 4, "next")) return false;
  if (<u32>load<u8>(<usize>(at + 4)) != capital(load<u8>(<usize>name.at))) return false;
  return memory.compare(at + 5, name.at + 1, name.bytes - 1) == 0;
}

/** Converts a letter from a to z to upper case, and returns any other byte unchanged. */
export function capital(byte: u32): u32 {
  return byte - 97 < 26 ? byte - 32 : byte;
}

function roleColumns(role: u32, head: u32, source: u32): bool {
  for (let i: u32 = 0; i < Root.the().fields().count; i++) {
    if (Role.of(role).has(Field.of(i)) && !leafColumn(head, i, Role.of(role).bytes, source)) return false;
  }
  return true;
}

/** Adds the leaves that play no role; with a name, only the leaves below that name. */
function otherColumns(view: View, name: u32, bytes: u32, head: u32, source: u32): bool {
  for (let i: u32 = 0; i < Root.the().fields().count; i++) {
    const field = Field.of(i);
    if (!isOther(view, i) || (head == NEXT && !sameWord(field.path, topBytes(field), name, bytes))) continue;
    if (!leafColumn(head, i, 0, source)) return false;
  }
  return true;
}

function leafColumn(head: u32, leaf: u32, skip: u32, source: u32): bool {
  const field = Field.of(leaf);
  return addColumn(head, field.path + skip, field.bytes - skip, source, leaf, field.dtype);
}

function drawnColumn(column: u32, dtype: u32): bool {
  return addColumn(COLUMN + column, 0, 0, DRAWN, column, dtype);
}

/** Adds the returns: a column of the draw, or a computed column if each component of a reward has its own return. */
function returnsColumn(reward: u32, dtype: u32): bool {
  return Field.of(reward).size == 1 ? drawnColumn(RETURN, dtype) : addColumn(COLUMN + RETURN, 0, 0, SUMMED, reward, dtype);
}

/** Adds a column to the view or mixture that is being settled; false if there is no memory. */
export function addColumn(head: u32, rest: u32, bytes: u32, source: u32, which: u32, dtype: u32): bool {
  const at = Root.the().columns().push(VIEW_COLUMN_BYTES);
  if (at == 0) return false;
  const made = changetype<ViewColumn>(at);
  made.head = head;
  made.rest = rest;
  made.bytes = bytes;
  made.source = source;
  made.which = which;
  made.dtype = dtype;
  return true;
}
