/** The statistics of leaves as a table. */
import type { LeafStatistics } from "../rlds/index.ts";
import { shapeText, table } from "./text.ts";

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
