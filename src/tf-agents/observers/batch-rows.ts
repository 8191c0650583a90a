/** Splits a trajectory with a batch dimension into one trajectory per environment. */
import { described, mustBe } from "../../base/error.ts";
import { MAX_LEAVES, MAX_NEST_DEPTH } from "../../base/limits.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import { Column, type ColumnLike, isColumn } from "../../schema/column.ts";
import { isLeaf, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import { nested, nodeRule } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";

type Row = (row: number) => unknown;

const TRAJECTORY_RULE = "an object with at least one leaf, such as stepType, or the flat list of its leaves";

interface TypedArray extends ArrayLike<unknown> {
  slice(from: number, to: number): unknown;
}

/** Splits batches of a fixed size. If the spec of a row is known, it is used to distinguish tuples from lists of rows, and to check the shapes. */
export class BatchRows {
  readonly #size: number;
  readonly #spec: Spec | undefined;

  constructor(size: number, spec: Spec | undefined) {
    this.#size = size;
    this.#spec = spec;
  }

  /**
   * Returns one trajectory per row, nested like the batch. A row of a typed array or column has its own memory. If the step types of the batch are a column,
   * the leaves of its rows are columns.
   * @throws ReplayError SPEC_MISMATCH for a leaf without a batch dimension of this size, or a leaf that is not in the spec
   */
  of(batch: unknown): readonly unknown[] {
    const isFlat = Array.isArray(batch);
    const stepType: unknown = isFlat ? batch[0] : (batch as { readonly stepType?: unknown } | null)?.stepType;
    const hasColumns = isColumn(stepType);
    const row = isFlat ? this.#flat(batch, hasColumns) : this.#node(batch, this.#spec, [], hasColumns, []);
    return Array.from({ length: this.#size }, (_, i) => row(i));
  }

  /** Splits a flat list of leaves. Only observers know the order of the leaves. */
  #flat(leaves: readonly unknown[], hasColumns: boolean): Row {
    if (leaves.length === 0) throw mustBe("SPEC_MISMATCH", pathOf([]), TRAJECTORY_RULE, leaves);
    if (leaves.length > MAX_LEAVES) throw mustBe("SPEC_MISMATCH", pathOf([]), `a list of at most ${MAX_LEAVES} leaves`, leaves);
    const rows = leaves.map((leaf, i) => this.#leaf(leaf, undefined, [String(i)], hasColumns));
    return (i) => rows.map((row) => row(i));
  }

  #node(at: unknown, spec: Spec | undefined, keys: readonly string[], hasColumns: boolean, ancestors: readonly unknown[]): Row {
    const isEnd = spec === undefined ? keys.length > 0 && isLeafValue(at) : isLeaf(spec);
    if (isEnd) return this.#leaf(at, spec as RowLeaf | undefined, keys, hasColumns);
    if (keys.length >= MAX_NEST_DEPTH || ancestors.includes(at))
      throw mustBe("SPEC_MISMATCH", pathOf(keys.slice(0, 4)), `nested at most ${MAX_NEST_DEPTH} levels deep, without a cycle`, at);
    const names = Object.keys((spec ?? at ?? {}) as object);
    const isNode = typeof at === "object" && at !== null && kindOf(at) === undefined && !(Array.isArray(at) && spec !== undefined && !Array.isArray(spec));
    // Neither the content of a Map nor missing data can be passed to an observer.
    if (spec === undefined && (!isNode || (keys.length === 0 && names.length === 0) || isOpaque(at)))
      throw mustBe("SPEC_MISMATCH", pathOf(keys), keys.length === 0 ? TRAJECTORY_RULE : "a plain object, an array or a leaf", at);
    if (!isNode || Object.keys(at).length !== names.length || names.some((name) => !Object.hasOwn(at, name)))
      throw mustBe("SPEC_MISMATCH", pathOf(keys), nodeRule(names, at, ["trajectory", ...keys].join(".")), at);
    const parts = names.map((name) => {
      const part = spec === undefined ? undefined : (spec as { readonly [name: string]: Spec })[name];
      return this.#node((at as { readonly [name: string]: unknown })[name], part, [...keys, name], hasColumns, [...ancestors, at]);
    });
    const isList = Array.isArray(spec ?? at);
    return (i) =>
      nested(
        names,
        parts.map((part) => part(i)),
        isList,
      );
  }

  #leaf(at: unknown, leaf: RowLeaf | undefined, keys: readonly string[], hasColumns: boolean): Row {
    const size = this.#size;
    const shape = leaf && shapeOf(leaf);
    const refuse = (value: unknown) => {
      const own = shape === undefined ? "" : ` of shape [${[size, ...shape].join(", ")}]`;
      return mustBe("SPEC_MISMATCH", pathOf(keys), `a batch of ${size} rows${own}, because there are ${size} observers`, value);
    };
    if (isColumn(at)) {
      const rest = at.shape.slice(1);
      const isOther = shape !== undefined && rest.join() !== shape.join();
      if (at.shape[0] !== size || at.data.length !== size * sizeOf(rest) || isOther) throw refuse(described(`a column of shape [${at.shape.join(", ")}]`));
      return columnRow(at, rest, hasColumns, shape !== undefined);
    }
    if (Array.isArray(at)) {
      if (at.length !== size) throw refuse(at);
      return (i) => at[i];
    }
    if (kindOf(at) === undefined) throw refuse(at);
    const array = at as TypedArray;
    const step = array.length / size;
    if (!Number.isInteger(step) || (shape !== undefined ? step !== sizeOf(shape) : step === 0)) throw refuse(at);
    const isNumber = shape === undefined ? step === 1 : shape.length === 0;
    return isNumber ? (i) => array[i] : (i) => array.slice(i * step, (i + 1) * step);
  }
}

/**
 * Returns a function that extracts a row of a column. If rows are not columns, a row with dimensions becomes a flat array, provided that the spec confirms its
 * shape.
 */
function columnRow({ data }: ColumnLike, rest: readonly number[], hasColumns: boolean, isChecked: boolean): Row {
  const step = sizeOf(rest);
  const part = (i: number) => data.slice(i * step, (i + 1) * step) as Column["data"];
  if (hasColumns) return (i) => new Column(part(i), [...rest]);
  if (rest.length === 0) return (i) => data[i];
  return isChecked ? part : (i) => new Column(part(i), [...rest]);
}

/**
 * Returns whether a value is the value of a leaf, without a spec. An empty array, or an array of objects or columns, is a tuple. Any other array is a list of
 * rows.
 */
function isLeafValue(at: unknown): boolean {
  if (Array.isArray(at)) return at.length > MAX_LEAVES || (at.length > 0 && !at.some((part) => isColumn(part) || isObject(part)));
  return isColumn(at) || !isObject(at);
}

/** Returns whether an object's content is not in its keys, as in a Map, a Date or a promise. */
function isOpaque(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return !Array.isArray(value) && Object.keys(value).length === 0 && prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && kindOf(value) === undefined;
}

function pathOf(keys: readonly string[]): string {
  return keys.length === 0 ? "the batched trajectory" : `${keys.join(".")} of the batched trajectory`;
}
