/** Values of one form, stacked into one array: as numpy and PyTorch do with those of a batch. */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { type AnyArray, type Dtype, type Numbered, zeros } from "../../schema/dtype.ts";
import { put, targetOf } from "../../schema/fit.ts";
import { isPlain } from "../../schema/infer.ts";
import { isLeaf, isObject, leafText, shapeOf } from "../../schema/leaf.ts";
import { nested, nodeRule, zip } from "../../schema/nest.ts";
import { type PartLeaf, type PartSpec, valueReader } from "./leaf.ts";
import { alike, infer } from "./step-spec.ts";

/** Which dtype plain numbers become, which have none of their own. */
export interface PlainDtype {
  /** Decided by the caller. */
  readonly dtype: Dtype | undefined;
  /** Else that of fractions, and of arrays of numbers; a single number is i64 where it is whole in all items. */
  readonly fractions: "f32" | "f64";
}

/**
 * One column, or columns nested as the values are.
 * @param beside values of the same part elsewhere: they have the same dtype
 * @throws TypeError for null, and where values differ in form · RangeError for what the dtype cannot hold
 */
export function stackOf(name: string, values: readonly unknown[], plain: PlainDtype, beside: readonly unknown[] = []): unknown {
  for (const value of values) if (value === null || value === undefined) throw mustBe(TypeError, name, "given in every item (or replaced by phi)", value);
  const spec = infer(values[0], name);
  if (isObject(spec)) return [...values];
  if (!isLeaf(spec)) return nodeOf(name, spec, values, plain, beside);
  values.forEach((value, i) => {
    if (!alike(spec, infer(value, name))) throw mustBe(TypeError, `${name} of item ${i}`, `${leafText(spec.dtype, spec.shape)}, like in the first item`, value);
  });
  const column = leafOf(spec as PartLeaf, values);
  if ((spec as PartLeaf).plain !== true) return column;
  const whole = spec.shape.length === 0 && [...values, ...beside].every((value) => typeof value !== "number" || Number.isSafeInteger(value));
  return castTo(name, plain.dtype ?? (whole ? "i64" : plain.fractions), column);
}

function nodeOf(name: string, spec: PartSpec, values: readonly unknown[], plain: PlainDtype, beside: readonly unknown[]): unknown {
  const names = Object.keys(spec);
  values.forEach((value, i) => {
    const same = (Array.isArray(value) || isPlain(value)) && Object.keys(value).length === names.length && names.every((key) => Object.hasOwn(value, key));
    if (!same) throw mustBe(TypeError, `${name} of item ${i}`, nodeRule(names, value, name), value);
  });
  const parts = names.map((key) =>
    stackOf(
      `${name}.${key}`,
      values.map((value) => (value as { readonly [key: string]: unknown })[key]),
      plain,
      beside.map((value) => (value as { readonly [key: string]: unknown } | null)?.[key]),
    ),
  );
  return nested(names, parts, Array.isArray(spec));
}

function leafOf(leaf: PartLeaf, values: readonly unknown[]): Column {
  const target = targetOf(leaf.dtype, shapeOf(leaf));
  const data = zeros(leaf.dtype as Dtype, values.length * target.size);
  values.forEach((value, i) => {
    put(target, data as Numbered, i * target.size, value);
  });
  return new Column(data, [values.length, ...target.shape]);
}

/** A column of plain numbers in another dtype. @throws RangeError for a number that it cannot hold */
function castTo(name: string, dtype: Dtype, column: Column): Column {
  const { data, shape } = column;
  if (dtype === "f64") return column;
  const made = zeros(dtype, data.length);
  const misfit = put(targetOf(dtype, [data.length]), made as AnyArray as Numbered, 0, data, { anyNumbers: true });
  if (misfit !== undefined) throw mustBe(RangeError, name, `a number that ${dtype} can hold`, misfit.value);
  return new Column<Dtype>(made, shape);
}

/** Columns of a batch as they are; those of plain numbers in the dtype that the caller decided. */
export function columnsOf(name: string, spec: PartSpec, columns: unknown, dtype: Dtype | undefined): unknown {
  if (dtype === undefined) return columns;
  return zip([spec, columns], isLeaf, ([leaf, column], keys) =>
    (leaf as PartLeaf).plain === true ? castTo([name, ...keys].join("."), dtype, column as Column) : column,
  );
}

/** The values of columns, one by one, as they were given; typed arrays are views of the columns'. */
export function elementsOf(spec: PartSpec, columns: unknown): (i: number) => unknown {
  const leaves = new Map<unknown, (data: Numbered, at: number) => unknown>();
  zip([spec], isLeaf, ([leaf]) => isObject(leaf) || leaves.set(leaf, valueReader(leaf as PartLeaf, true)));
  return (i) =>
    zip([spec, columns], isLeaf, ([leaf, column]) => {
      if (isObject(leaf)) return (column as unknown[])[i];
      const { data, shape } = column as Column;
      return leaves.get(leaf)?.(data as Numbered, (i * data.length) / (shape[0] as number));
    });
}
