/** Converts typed arrays to columns with the shapes that the spec of a case declares. */
import { Column } from "../../../src/schema/column.ts";
import { isObject } from "../case.ts";

/** @param typed a typed array for each leaf of the spec @param rows the leading dimension, if any */
export function columnsOf(spec: unknown, typed: unknown, rows?: number): unknown {
  if (isObject(spec) && typeof spec.dtype === "string") {
    const data = typed as Column["data"];
    const shape = spec.shape as number[];
    if (rows === undefined) return new Column(data, [...shape]);
    // The number of rows is derived from the data, because some cases pass a batch of the wrong size.
    return new Column(data, [data.length / shape.reduce((product, n) => product * n, 1), ...shape]);
  }
  if (Array.isArray(spec)) return spec.map((part, i) => columnsOf(part, (typed as unknown[])[i], rows));
  return Object.fromEntries(Object.entries(spec as object).map(([name, part]) => [name, columnsOf(part, (typed as { [name: string]: unknown })[name], rows)]));
}
