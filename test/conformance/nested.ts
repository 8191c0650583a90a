import type { ColumnLike } from "../../src/index.ts";

/** Converts flat values to nested arrays of a shape. */
export function nested(values: readonly number[], shape: readonly number[]): unknown {
  const [n, ...rest] = shape;
  if (n === undefined) return values[0];
  const each = rest.reduce((product, m) => product * m, 1);
  return Array.from({ length: n }, (_, i) => nested(values.slice(i * each, (i + 1) * each), rest));
}

/** Converts a column to nested plain numbers. */
export function nestedColumn({ data, shape }: ColumnLike): unknown {
  return nested([...data].map(Number), shape);
}
