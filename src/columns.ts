/** Columns: which steps of an item a batch shows, under which names. Transitions, n-step pairs and histories are read so, without a copy by hand. */
import { BOOTSTRAP } from "./abi.ts";
import type { Dtype } from "./dtype.ts";
import { integer, mustBe, onlyKeys, ReplayError, show } from "./error.ts";
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
  readonly name: string;
  readonly leaf: PlacedLeaf;
  readonly start: number;
  readonly step: number;
  readonly squeezed: boolean;
  readonly to: number | undefined;
}

/** Checks a set of columns against the leaves. */
export function selectionsOf(columns: object, leaves: readonly PlacedLeaf[]): Selection[] {
  const selections = Object.entries(columns).map(([name, column]) => selectionOf(name, column as ColumnOf, leaves));
  if (selections.length === 0) throw new RangeError("columns must have at least one column, got none");
  return selections;
}

/** How many steps a column has in windows of `width`. */
export function countOf(selection: Selection, width: number): number {
  if (selection.squeezed) return 1;
  const { start, step, to } = selection;
  // Both ends from the item's start, as in a window that is full.
  const first = start < 0 ? Math.max(width + start, 0) : start;
  const end = to === undefined ? width : to < 0 ? width + to : Math.min(to, width);
  return Math.max(Math.ceil((end - first) / step), 0);
}

function selectionOf(name: string, column: ColumnOf, leaves: readonly PlacedLeaf[]): Selection {
  const subject = `columns.${name}`;
  if (typeof column !== "object" || column === null) throw new TypeError(mustBe(subject, "an object {leaf, at} or {leaf, from, to, step}", column));
  onlyKeys(subject, column, ["leaf", "at", "from", "to", "step"]);
  const leaf = leaves.find((known) => known.path === column.leaf);
  if (leaf === undefined) {
    throw new ReplayError(
      "NOT_FOUND",
      `${subject}.leaf must be a leaf of the spec (${leaves.map((known) => known.path || '""').join(", ")}), got ${show(column.leaf)}`,
    );
  }
  const squeezed = column.at !== undefined;
  if (squeezed && (column.from !== undefined || column.to !== undefined || column.step !== undefined)) {
    throw new RangeError(`${subject} must have either "at" or "from", "to" and "step", got both`);
  }
  const start = column.at === "bootstrap" ? BOOTSTRAP : place(`${subject}.${squeezed ? "at" : "from"}`, column.at ?? column.from ?? 0);
  const step = integer(`${subject}.step`, column.step ?? 1, 1, 0xffffff);
  return { name, leaf, start, step, squeezed, to: column.to === undefined ? undefined : place(`${subject}.to`, column.to) };
}

function place(subject: string, value: number): number {
  return integer(subject, value, -0xffffff, 0xffffff);
}
