/** Stacks values of one form into one array, as NumPy and PyTorch do for a batch. */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { put, targetOf } from "../../schema/copy-values.ts";
import { type AnyArray, type Dtype, type NumberArray, zeros } from "../../schema/dtype.ts";
import { isPlain } from "../../schema/infer.ts";
import { isLeaf, isObject, leafText, shapeOf } from "../../schema/leaf.ts";
import { nested, nodeRule, zip } from "../../schema/nest.ts";
import { type PartLeaf, type PartSpec, valueReader } from "./leaf.ts";
import { infer, matchesSpec } from "./step-spec.ts";

/** The rule for the dtype of plain numbers. */
export interface DefaultDtype {
  /** The dtype that the caller chose. */
  readonly dtype: Dtype | undefined;
  /** The dtype of fractions and of arrays of numbers if the caller did not choose a dtype. A single number is i64 if it is whole in all items. */
  readonly fractions: "f32" | "f64";
}

/**
 * Returns one column, columns nested like the values, or an array of values that no column can store.
 * @param otherValues more values of the same part, which must get the same dtype
 * @throws TypeError for null, and if values differ in form · RangeError for numbers that the dtype cannot represent
 */
export function stackOf(name: string, values: readonly unknown[], defaultDtype: DefaultDtype, otherValues: readonly unknown[] = []): unknown {
  for (const value of values)
    if (value === null || value === undefined) throw mustBe(TypeError, name, ["present in every item", "Use phi to replace missing values"], value);
  const spec = infer(values[0], name);
  if (isObject(spec)) return [...values];
  if (!isLeaf(spec)) return nodeOf(name, spec, values, defaultDtype, otherValues);
  values.forEach((value, i) => {
    if (!matchesSpec(spec, infer(value, name)))
      throw mustBe(TypeError, `${name} of item ${i}`, `${leafText(spec.dtype, spec.shape)}, as in the first item`, value);
  });
  const column = leafOf(spec as PartLeaf, values);
  if ((spec as PartLeaf).plain !== true) return column;
  const areIntegers = spec.shape.length === 0 && [...values, ...otherValues].every((value) => typeof value !== "number" || Number.isSafeInteger(value));
  return castTo(name, defaultDtype.dtype ?? (areIntegers ? "i64" : defaultDtype.fractions), column);
}

function nodeOf(name: string, spec: PartSpec, values: readonly unknown[], defaultDtype: DefaultDtype, otherValues: readonly unknown[]): unknown {
  const names = Object.keys(spec);
  values.forEach((value, i) => {
    const hasSameKeys =
      (Array.isArray(value) || isPlain(value)) && Object.keys(value).length === names.length && names.every((key) => Object.hasOwn(value, key));
    if (!hasSameKeys) throw mustBe(TypeError, `${name} of item ${i}`, nodeRule(names, value, name), value);
  });
  const parts = names.map((key) =>
    stackOf(
      `${name}.${key}`,
      values.map((value) => (value as { readonly [key: string]: unknown })[key]),
      defaultDtype,
      otherValues.map((value) => (value as { readonly [key: string]: unknown } | null)?.[key]),
    ),
  );
  return nested(names, parts, Array.isArray(spec));
}

function leafOf(leaf: PartLeaf, values: readonly unknown[]): Column {
  const target = targetOf(leaf.dtype, shapeOf(leaf));
  const data = zeros(leaf.dtype as Dtype, values.length * target.size);
  values.forEach((value, i) => {
    put(target, data as NumberArray, i * target.size, value);
  });
  return new Column(data, [values.length, ...target.shape]);
}

/** Converts a column of plain numbers to another dtype. @throws RangeError for a number that the dtype cannot represent */
function castTo(name: string, dtype: Dtype, column: Column): Column {
  const { data, shape } = column;
  if (dtype === "f64") return column;
  const output = zeros(dtype, data.length);
  const mismatch = put(targetOf(dtype, [data.length]), output as AnyArray as NumberArray, 0, data, { anyNumbers: true });
  if (mismatch !== undefined) throw mustBe(RangeError, name, `a number that fits in ${dtype}`, mismatch.value);
  return new Column<Dtype>(output, shape);
}

/** Returns the columns of a batch; columns of plain numbers are converted to the dtype that the caller chose. */
export function columnsOf(name: string, spec: PartSpec, columns: unknown, dtype: Dtype | undefined): unknown {
  if (dtype === undefined) return columns;
  return zip([spec, columns], isLeaf, ([leaf, column], keys) =>
    (leaf as PartLeaf).plain === true ? castTo([name, ...keys].join("."), dtype, column as Column) : column,
  );
}

/** Returns a function that reads the values of columns one by one, in their original form. Typed arrays are views of the columns. */
export function elementsOf(spec: PartSpec, columns: unknown): (i: number) => unknown {
  const leaves = new Map<unknown, (data: NumberArray, at: number) => unknown>();
  zip([spec], isLeaf, ([leaf]) => isObject(leaf) || leaves.set(leaf, valueReader(leaf as PartLeaf, true)));
  return (i) =>
    zip([spec, columns], isLeaf, ([leaf, column]) => {
      if (isObject(leaf)) return (column as unknown[])[i];
      const { data, shape } = column as Column;
      return leaves.get(leaf)?.(data as NumberArray, (i * data.length) / (shape[0] as number));
    });
}
