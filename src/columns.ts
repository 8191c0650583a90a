/** Columns: which steps of an item a batch shows, under which names. Transitions, n-step pairs and histories are read so, without a copy by hand. */
import { BOOTSTRAP } from "./abi.ts";
import type { Dtype } from "./dtype.ts";
import { integer, mustBe, oneFrom, onlyKeys } from "./error.ts";
import type { PlacedLeaf } from "./layout.ts";
import type { Leaf, LeafAt, PathOf } from "./spec.ts";

/** One output column: one step (`at`), or a run of steps (`from`, `to`, `step`), of one leaf. Negative numbers count from the item's end. */
export interface ColumnOf<Path extends string = string> {
  /** The leaf, by its dotted path. */
  readonly leaf: Path;
  /** A single step, without a dimension of time: 0 the first, -1 the last, "bootstrap" the one where the n-step return ends. */
  readonly at?: number | "bootstrap";
  /** The first step of a run; 0 where it is left out. */
  readonly from?: number;
  /** The step behind a run; the item's end where it is left out. */
  readonly to?: number;
  /** From step to step of a run; 1 where it is left out. */
  readonly step?: number;
}

export interface ColumnSet<S> {
  readonly [name: string]: ColumnOf<PathOf<S>>;
}

/** The dtype of each column. */
export type DtypesOf<S, C> = {
  readonly [K in keyof C]: C[K] extends { readonly leaf: infer P extends string } ? (LeafAt<S, P> extends Leaf<infer D> ? D : Dtype) : Dtype;
};

/** A column as the core takes it. */
export interface Selection {
  /** Where a batch has it. */
  readonly keys: readonly string[];
  readonly leaf: PlacedLeaf;
  readonly start: number;
  readonly step: number;
  readonly squeezed: boolean;
  readonly to: number | undefined;
}

/** Every leaf of every step. */
export function wholeOf(leaves: readonly PlacedLeaf[]): Selection[] {
  return leaves.map((leaf) => ({ keys: leaf.keys, leaf, start: 0, step: 1, squeezed: false, to: undefined }));
}

/** The leaf at a path. */
export function leafAt(subject: string, leaves: readonly PlacedLeaf[], path: unknown): PlacedLeaf {
  const found = leaves.find((leaf) => leaf.path === path);
  if (found === undefined) throw mustBe("NOT_FOUND", subject, oneFrom(leaves.map((leaf) => leaf.path)), path);
  return found;
}

/** Checks a set of columns against the leaves. */
export function selectionsOf(columns: object, leaves: readonly PlacedLeaf[]): Selection[] {
  const place = (subject: string, value: number) => integer(subject, value, -0xffffff, 0xffffff);
  const selections = Object.entries(columns ?? {}).map(([name, column]: [string, ColumnOf]) => {
    const subject = `columns.${name}`;
    const { leaf, at, from, to, step } = onlyKeys(subject, column, "leaf, at, from, to, step");
    if (at !== undefined && (from ?? to ?? step) !== undefined) throw new RangeError(`${subject} must have either at, or from, to and step, got both`);
    return {
      keys: [name],
      leaf: leafAt(`${subject}.leaf`, leaves, leaf),
      start: at === "bootstrap" ? BOOTSTRAP : place(`${subject}.${at === undefined ? "from" : "at"}`, at ?? from ?? 0),
      step: integer(`${subject}.step`, step ?? 1, 1, 0xffffff),
      squeezed: at !== undefined,
      to: to === undefined ? to : place(`${subject}.to`, to),
    };
  });
  if (selections.length === 0) throw mustBe(RangeError, "columns", "an object with at least one", columns);
  return selections;
}

/** How many steps a column has in windows of `width`, both ends counted as in a window that is full. */
export function countOf(selection: Selection, width: number): number {
  const { squeezed, start, step, to = width } = selection;
  if (squeezed) return 1;
  const first = start < 0 ? width + start : start;
  const end = to < 0 ? width + to : Math.min(to, width);
  return Math.max(Math.ceil((end - first) / step), 0);
}
