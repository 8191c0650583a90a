/** Determines types of attributes that fit all episodes of a dataset. */
import { type AnyArray, DTYPES, isFloat } from "../../../schema/dtype.ts";
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { NumberRange } from "../number-range.ts";
import type { Attribute } from "./episode-store.ts";

/** The type of an attribute that has different kinds or shapes in different episodes. Its lists become JSON text. */
const TEXT: StepLeaf = { dtype: "string", shape: [] };

interface Type {
  leaf: StepLeaf;
  readonly range: NumberRange;
}

export class AttributeTypes {
  readonly #types = new Map<string, Type>();

  /** Adds the attributes of another episode. */
  add(attributes: ReadonlyMap<string, Attribute>): void {
    for (const [path, { leaf, data }] of attributes) {
      const type = this.#types.get(path) ?? { leaf, range: new NumberRange() };
      this.#types.set(path, type);
      if (!isText(leaf)) for (const value of data as ArrayLike<number | bigint> & Iterable<number | bigint>) type.range.add(exact(value));
      type.leaf = widened(type, leaf);
    }
  }

  get leaves(): ReadonlyMap<string, { readonly leaf: StepLeaf }> {
    return this.#types;
  }

  /** Returns the attributes of an episode in the common types. A missing attribute becomes NaN, 0 for integers, false, or an empty text. */
  conform(attributes: ReadonlyMap<string, Attribute>): Map<string, Attribute> {
    return new Map(Array.from(this.#types, ([path, { leaf }]) => [path, { leaf, data: converted(attributes.get(path), leaf) }]));
  }
}

/** Converts a bigint to a number if the number is exact, because NumberRange expects bigints only for integers that numbers cannot represent. */
function exact(value: number | bigint): number | bigint {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function widened({ leaf: before, range }: Type, leaf: StepLeaf): StepLeaf {
  if (before.dtype === leaf.dtype && before.shape.join() === leaf.shape.join()) return before;
  if (isText(before) || isText(leaf) || before.shape.join() !== leaf.shape.join()) return TEXT;
  if (isFloat(before.dtype) || isFloat(leaf.dtype)) return { ...leaf, dtype: "f64" } as StepLeaf;
  const dtype = range.dtype(false);
  if (dtype === "string") return TEXT;
  const isLong = DTYPES[before.dtype].bytes === 8 || DTYPES[leaf.dtype].bytes === 8;
  return { ...leaf, dtype: dtype === "i32" && isLong ? "i64" : dtype } as StepLeaf;
}

function converted(attribute: Attribute | undefined, leaf: StepLeaf): ColumnData {
  const size = sizeOf(leaf.shape);
  if (attribute === undefined)
    return isText(leaf) ? new Array<string>(size).fill("") : numbers(leaf, new Array(size).fill(isFloat(leaf.dtype) ? Number.NaN : 0));
  if (attribute.leaf.dtype === leaf.dtype && attribute.leaf.shape.join() === leaf.shape.join()) return attribute.data;
  const values = Array.from(attribute.data as ArrayLike<number | bigint | string | Uint8Array>);
  if (isText(leaf))
    return [attribute.leaf.shape.length === 0 ? textOf(attribute.leaf, values[0]) : `[${values.map((value) => jsonOf(attribute.leaf, value)).join(", ")}]`];
  return numbers(leaf, values as (number | bigint)[]);
}

function textOf({ dtype }: StepLeaf, value: unknown): string {
  return dtype === "bool" ? String(value === 1) : value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
}

function jsonOf(leaf: StepLeaf, value: unknown): string {
  return isText(leaf) ? JSON.stringify(textOf(leaf, value)) : textOf(leaf, value);
}

function numbers({ dtype }: StepLeaf, values: readonly (number | bigint)[]): AnyArray {
  const array = new DTYPES[dtype as "f64"].array(values.length) as unknown as { [i: number]: unknown };
  for (const [i, value] of values.entries()) array[i] = DTYPES[dtype as "f64"].big ? BigInt(value) : Number(value);
  return array as unknown as AnyArray;
}
