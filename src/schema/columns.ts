/**
 * Checks, compares and joins columns. Columns define the steps of an item that a batch shows, and their names in the batch. Examples are transitions, n-step
 * pairs and histories.
 */
import { BOOTSTRAP } from "../base/abi.ts";
import { integer, mustBe, mustBeOneOf, onlyKeys } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { PlacedLeaf } from "./layout.ts";
import type { PathOf } from "./spec.ts";

/**
 * A column of a batch. It shows one step (`at`), a run of steps (`from`, `to`, `step`) or a list of steps (`steps`) of one leaf. Negative numbers count from
 * the end of the item.
 */
export interface ColumnOf<Path extends string = string> {
  /** The dotted path of the leaf. */
  readonly leaf: Path;
  /**
   * The single step that the column shows, without a dimension of time. 0 is the first step, -1 the last step, and "bootstrap" the step at which the n-step
   * return ends.
   */
  readonly at?: number | "bootstrap";
  /** The first step of a run. Default: 0. */
  readonly from?: number;
  /** The step after the end of a run. Default: the end of the item. */
  readonly to?: number;
  /** The distance between two steps of a run. Default: 1. */
  readonly step?: number;
  /** The steps that the column shows, in any order. A step may occur more than once. */
  readonly steps?: readonly number[];
}

export interface ColumnSet<S> {
  readonly [name: string]: ColumnOf<PathOf<S>>;
}

/** A checked column. */
export interface Selection {
  /** The path of the column in a batch. */
  readonly keys: readonly string[];
  readonly leaf: PlacedLeaf;
  /** The list of steps. Without a list, the column has every `step`-th step from `start` to before `to`. */
  readonly steps?: readonly number[] | undefined;
  readonly start: number;
  readonly step: number;
  readonly to?: number | undefined;
  /** Whether the column has no dimension of time. */
  readonly squeezed: boolean;
}

/** The columns with which items were created. An item stores the number of its layout; 0 means whole steps. */
export interface ColumnLayout {
  readonly id: number;
  /** The columns as JSON. */
  readonly columns: string;
  readonly selections: readonly Selection[];
}

/** Returns columns for every leaf of every step. */
export function wholeOf(leaves: readonly PlacedLeaf[]): Selection[] {
  return leaves.map((leaf) => ({ keys: leaf.keys, leaf, start: 0, step: 1, squeezed: false }));
}

/** Returns the leaf at a path. @throws ReplayError NOT_FOUND if there is no leaf at the path */
export function leafAt(subject: string, leaves: readonly PlacedLeaf[], path: unknown): PlacedLeaf {
  const found = leaves.find((leaf) => leaf.path === path);
  if (found === undefined)
    throw mustBeOneOf(
      "NOT_FOUND",
      subject,
      leaves.map((leaf) => leaf.path),
      path,
    );
  return found;
}

/**
 * Checks a set of columns, and returns its selections. @throws TypeError, RangeError if a column is invalid · ReplayError NOT_FOUND if a leaf does not exist
 */
export function selectionsOf(columns: object, leaves: readonly PlacedLeaf[]): Selection[] {
  const selections = Object.entries(columns ?? {}).map(([name, column]: [string, ColumnOf]) => {
    const subject = `columns.${name}`;
    // If `at` or `steps` excludes a key, the error about that key must not list it as allowed.
    const keys = column?.at !== undefined ? "leaf, at" : column?.steps !== undefined ? "leaf, steps" : "leaf, at, steps, from, to, step";
    const { leaf, at, from, to, step, steps } = onlyKeys(subject, column, keys);
    const place = (key: string, value: number) => integer(`${subject}.${key}`, value, -MAX_LENGTH, MAX_LENGTH);
    if (!Array.isArray(steps ?? [])) throw mustBe(TypeError, `${subject}.steps`, "an array", steps);
    return {
      keys: [name],
      leaf: leafAt(`${subject}.leaf`, leaves, leaf),
      steps: at === "bootstrap" ? [BOOTSTRAP] : at === undefined ? steps?.map((value) => place("steps", value)) : [place("at", at)],
      start: place("from", from ?? 0),
      step: integer(`${subject}.step`, step ?? 1, 1, MAX_LENGTH),
      to: to === undefined ? to : place("to", to),
      squeezed: at !== undefined,
    };
  });
  if (selections.length === 0) throw mustBe(RangeError, "columns", "an object with at least one column", columns);
  return selections;
}

/** Returns whether two sets of columns show the same steps of the same leaves under the same names, in any order. */
export function isSameSelection(offset: readonly Selection[], other: readonly Selection[]): boolean {
  const [a, b] = [offset, other].map((selections) =>
    selections
      .map(({ keys, leaf, steps, start, step, to, squeezed }) => JSON.stringify([keys, leaf.index, steps, start, step, to, squeezed]))
      .sort()
      .join(),
  );
  return a === b;
}

/** Returns columns as JSON, so that their values cannot change later; undefined if JSON cannot represent the columns. */
export function columnsText(columns: unknown): string | undefined {
  try {
    return JSON.stringify(columns);
  } catch {
    return undefined;
  }
}

/**
 * Returns the selections of columns from their JSON text, since getters may return other values each time. Errors refer to the original columns.
 * @throws the errors of `selectionsOf`
 */
export function textSelections(columns: object, text: string | undefined, leaves: readonly PlacedLeaf[]): Selection[] {
  selectionsOf(columns, leaves);
  if (text === undefined) throw mustBe(TypeError, "columns", "an object of columns that JSON can represent", columns);
  return selectionsOf(JSON.parse(text), leaves);
}

/** Returns how many steps an item must have so that every column finds its steps. A list may begin before the start of an item, as a padded history does. */
export function stepsOf(selections: readonly Selection[]): number {
  let max = 0;
  for (const { steps = [], squeezed } of selections)
    for (const step of steps) if (step !== BOOTSTRAP) max = Math.max(max, step < 0 ? (squeezed ? -step : 0) : step + 1);
  return max;
}

/**
 * @param subject "columns", or the columns of a rule
 * @param reason the reason why items are not longer
 * @throws RangeError if no item of `length` steps has a column's step, so that the column would always be zeros
 */
export function checkSteps(subject: string, selections: readonly Selection[], length: number, reason: string): void {
  if (stepsOf(selections) <= length) return;
  const wrong = selections.find((selection) => stepsOf([selection]) > length) as Selection;
  const step = wrong.steps?.find((one) => one >= length || one < -length);
  throw mustBe(RangeError, `${subject}.${wrong.keys[0]}.${wrong.squeezed ? "at" : "steps"}`, `in ${-length} … ${length - 1}, because ${reason}`, step);
}

/** The step number of padding, which is not a step of any item. */
const PADDING = 0x7ffffffe;

/** The part of a layout that defines the steps that an item shows. */
export type HasSelections = Pick<ColumnLayout, "selections">;

/**
 * Returns columns with lists of steps that are long enough for each of several joinable layouts, in windows of `width` steps. `stepLists` returns the actual
 * steps of each item.
 * @param first the layout that determines the order of the columns
 * @param candidate columns that are returned if their lists already have the right lengths
 */
export function jointOf(first: HasSelections, layouts: Iterable<HasSelections>, width: number, candidate?: readonly Selection[]): readonly Selection[] {
  const counts = first.selections.map(() => 0);
  for (const layout of layouts)
    for (const [i, { keys }] of first.selections.entries()) counts[i] = Math.max(counts[i] as number, stepCount(columnNamed(layout, keys), width));
  if (candidate !== undefined && sameOrder(first.selections, candidate) && candidate.every(({ steps }, i) => steps?.length === counts[i])) return candidate;
  return first.selections.map(({ keys, leaf, squeezed }, i) => ({
    keys,
    leaf,
    squeezed,
    start: 0,
    step: 1,
    steps: new Array<number>(counts[i] as number).fill(0),
  }));
}

/** Returns whether the lists of steps of `room` are long enough for other columns that show the same leaves under the same names. */
export function hasRoom(room: readonly Selection[], { selections }: HasSelections, width: number): boolean {
  return selections.every((selection) => stepCount(selection, width) <= stepCount(columnNamed({ selections: room }, selection.keys), width));
}

/** Returns whether columns have the same names in the same order. */
export function sameOrder(first: readonly Selection[], second: readonly Selection[]): boolean {
  return first.length === second.length && first.every(({ keys }, i) => keys[0] === second[i]?.keys[0]);
}

/** Returns one array per joint column: for each item, the steps that its layout selects, padded with PADDING to the room of the column. */
export function stepLists(joint: readonly Selection[], items: readonly HasSelections[], width: number): Int32Array[] {
  return joint.map(({ keys, steps = [] }) => {
    const room = steps.length;
    const lists = new Int32Array(items.length * room).fill(PADDING);
    for (let i = 0; i < items.length; i++) {
      const selection = columnNamed(items[i] as HasSelections, keys);
      const { steps: list, start, step } = selection;
      const count = Math.min(stepCount(selection, width), room);
      for (let k = 0; k < count; k++) lists[i * room + k] = list === undefined ? start + k * step : (list[k] as number);
    }
    return lists;
  });
}

/** Returns whether two sets of columns show the same leaves under the same names, at any steps. */
export function isJoinable(first: readonly Selection[], second: readonly Selection[]): boolean {
  if (first === second) return true;
  const fits = ({ keys, leaf, squeezed }: Selection) =>
    second.some((other) => other.keys.join() === keys.join() && other.leaf === leaf && other.squeezed === squeezed);
  return first.length === second.length && first.every(fits);
}

/**
 * Returns columns with room for the columns of all parts of a batch, in windows of `width` steps. The columns must be joinable.
 * @param first the columns that determine the order of the result
 */
export function jointSelections(first: readonly Selection[], parts: ReadonlySet<readonly Selection[]>, width: number): readonly Selection[] {
  if (parts.size === 1) return first;
  const layouts = Array.from(parts, (selections) => ({ selections }));
  return jointOf({ selections: first }, layouts, width);
}

/** Returns the column of a layout under a name. */
export function columnNamed({ selections }: HasSelections, keys: readonly string[]): Selection {
  return selections.find((selection) => selection.keys[0] === keys[0]) as Selection;
}

/** Returns the steps of a column in full windows of `width` steps. */
export function stepIndices(selection: Selection, width: number): readonly number[] {
  const { steps, start, step } = selection;
  return steps ?? Array.from({ length: stepCount(selection, width) }, (_, k) => start + k * step);
}

/** Returns the number of steps of a column in full windows. */
function stepCount(selection: Selection, width: number): number {
  const { steps, start, step, to = width } = selection;
  const first = start < 0 ? width + start : start;
  const end = to < 0 ? width + to : Math.min(to, width);
  return steps?.length ?? Math.max(Math.ceil((end - first) / step), 0);
}

/** Returns whether a column is at the bootstrap step, which only n-step returns have. */
export function isBootstrap(selection: Selection): boolean {
  return selection.steps?.[0] === BOOTSTRAP;
}
