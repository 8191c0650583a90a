/** Checks the columns of batches against a spec. */

import { described, mustBe } from "../../base/error.ts";
import type { StepsOf } from "../../batch/batch.ts";
import { Column, type ColumnLike, isColumn } from "../../schema/column.ts";
import { DTYPES } from "../../schema/dtype.ts";
import { isLeaf, leafText, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import { leading } from "./columns.ts";

/** The number of dimensions that precede the dimensions of a leaf: 1 for a batch, or 2 for a batch with a time dimension. */
export type Outer = 1 | 2;

/** A batch that fits a spec: its columns, nested like the spec. */
export type SpecColumns<S extends Spec> = StepsOf<S>;

interface FitOptions {
  readonly subject: string;
  readonly outer: Outer;
  /** The required number of rows and steps. Default: the numbers in the first column. */
  readonly rows?: number | undefined;
  readonly steps?: number | undefined;
}

/**
 * Returns the columns of a nested value, nested like the spec, without copying. All columns must have the same outer dimensions, and the shape and dtype of
 * their leaf. @throws ReplayError SPEC_MISMATCH if the structure, a shape or a dtype differs
 */
export function fitColumns<S extends Spec>(spec: S, value: unknown, { subject, outer, rows, steps }: FitOptions): SpecColumns<S> {
  const outerShape: (number | undefined)[] = outer === 1 ? [rows] : [rows, steps];
  const visit = (node: Spec, at: unknown, path: string): unknown => {
    if (isLeaf(node)) {
      const column = columnOf(node as RowLeaf, at, outerShape, path);
      for (const i of outerShape.keys()) outerShape[i] ??= column.shape[i];
      return column;
    }
    const list = Array.isArray(node);
    if (typeof at !== "object" || at === null || Array.isArray(at) !== list || (list && (at as unknown[]).length !== node.length))
      throw mustBe("SPEC_MISMATCH", path, list ? `an array of ${node.length}` : `an object with ${Object.keys(node).join(", ")}`, at);
    const parts = Object.entries(node).map(
      ([name, part]) => [name, visit(part as Spec, (at as { readonly [name: string]: unknown })[name], `${path}.${name}`)] as const,
    );
    return list ? parts.map(([, part]) => part) : Object.fromEntries(parts);
  };
  return visit(spec, value, subject) as SpecColumns<S>;
}

/** Returns a value as a column of a leaf. @throws ReplayError SPEC_MISMATCH if its shape or dtype differs */
function columnOf(leaf: RowLeaf, value: unknown, outerShape: readonly (number | undefined)[], path: string): Column {
  const { dtype } = leaf;
  const shape = shapeOf(leaf);
  const names = outerShape.length === 1 ? ["batch"] : ["batch", "time"];
  const rule = `a column of ${leafText(dtype, [...outerShape.map((n, i) => n ?? (names[i] as string)), ...shape])}`;
  const isKnownShape = outerShape.every((n) => n !== undefined);
  const array = dtype === "string" ? Array : DTYPES[dtype].array;
  // A flat typed array is accepted if its outer dimensions are known, or if its length determines the batch size.
  const column: ColumnLike | undefined = isColumn(value)
    ? value
    : value instanceof array && (isKnownShape || outerShape.length === 1)
      ? { data: value as Column["data"], shape: [...(isKnownShape ? (outerShape as number[]) : [(value as Float32Array).length / sizeOf(shape)]), ...shape] }
      : undefined;
  if (column === undefined || !(column.data instanceof array)) throw mustBe("SPEC_MISMATCH", path, rule, value);
  const hasOuterShape = column.shape.length === outerShape.length + shape.length && outerShape.every((n, i) => n === undefined || n === column.shape[i]);
  if (!hasOuterShape || shape.some((n, i) => n !== column.shape[outerShape.length + i]) || sizeOf(column.shape) !== column.data.length)
    throw mustBe("SPEC_MISMATCH", path, rule, described(`[${column.shape.join(", ")}]`));
  return column instanceof Column ? column : (leading(path, column, []) as Column);
}
