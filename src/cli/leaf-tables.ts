/** Formats the leaves of a spec, and their statistics, as tables. */
import type { LeafStatistics, StepSpec } from "../datasets/rlds/index.ts";
import { leaves } from "../schema/nest.ts";
import { shapeText, table } from "./text.ts";

export interface NamedLeaf {
  /** The path with slashes, as in RLDS tools, such as `observation/image`. */
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

export function leavesIn(spec: StepSpec): NamedLeaf[] {
  return leaves(spec).map(({ keys, leaf: { dtype, shape } }) => ({ path: keys.join("/"), dtype, shape }));
}

export function specText(spec: StepSpec): string {
  const rows = leavesIn(spec).map(({ path, dtype, shape }) => [path, dtype, shapeText(shape)]);
  return table([["leaf", "dtype", "shape"], ...rows.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1))]);
}

export function statisticsText(leaves: readonly LeafStatistics[]): string {
  const rows = leaves.map(({ path, dtype, shape, count, nonFinite, min, max, mean, std }) => [
    path,
    dtype,
    shapeText(shape),
    count,
    Number(min),
    Number(max),
    mean,
    std,
    nonFinite,
  ]);
  return table([["leaf", "dtype", "shape", "steps", "min", "max", "mean", "deviation", "not finite"], ...rows]);
}
