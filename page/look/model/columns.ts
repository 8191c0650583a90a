/** Holds an episode's leaves one by one, as plain arrays. The worker sends these arrays, and every part of the room uses them. */
import type { ColumnData, StepColumn, StepSpec } from "reprise/rlds";

/** One leaf of the steps of an episode. */
export interface LeafColumn {
  /** The keys that lead to the leaf, joined with slashes: `observation/state`. */
  readonly path: string;
  readonly dtype: string;
  /** The shape of one step's value. */
  readonly shape: readonly number[];
  /** The number of elements of one step's value. */
  readonly size: number;
  /** All elements in order of time; a list for text and bytes. */
  readonly data: ColumnData;
}

/** A leaf of a spec, before there are steps. */
export type LeafForm = Omit<LeafColumn, "data">;

interface Leaf {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** A nest of leaves, as a list or by names. */
type Nested = { readonly [name: string]: unknown };

function isLeaf(node: unknown): node is Leaf {
  const { dtype, shape } = (node ?? {}) as Partial<Leaf>;
  return typeof dtype === "string" && Array.isArray(shape);
}

/** Returns the leaves of a spec, beginning with the leaves of RLDS's fields. */
export function leafForms(spec: StepSpec): LeafForm[] {
  const found: LeafForm[] = [];
  walk(spec, [], ({ dtype, shape }, keys) => {
    found.push({ path: keys.join("/"), dtype, shape, size: shape.reduce((product, n) => product * n, 1) });
  });
  return sorted(found);
}

/** Returns the leaves with an episode's values. @param columns from `StepColumns.columns` */
export function leafColumns(spec: StepSpec, columns: unknown): LeafColumn[] {
  const found: LeafColumn[] = [];
  walk(spec, [], ({ dtype, shape }, keys) => {
    const { data } = keys.reduce<unknown>((at, key) => (at as Nested)[key], columns) as StepColumn;
    found.push({ path: keys.join("/"), dtype, shape, size: shape.reduce((product, n) => product * n, 1), data });
  });
  return sorted(found);
}

function walk(node: unknown, keys: readonly string[], visit: (leaf: Leaf, keys: readonly string[]) => void): void {
  if (isLeaf(node)) visit(node, keys);
  else for (const name of Object.keys(node as Nested)) walk((node as Nested)[name], [...keys, name], visit);
}

const FIRST = ["observation", "action", "reward", "discount"];
const LAST = ["is_first", "is_last", "is_terminal"];

function sorted<T extends LeafForm>(leaves: readonly T[]): T[] {
  const rank = ({ path }: LeafForm) => {
    const [field = ""] = path.split("/");
    const first = FIRST.indexOf(field);
    return first >= 0 ? first : LAST.includes(field) ? 100 + LAST.indexOf(field) : 50;
  };
  return [...leaves].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}
