/** Splits one part of a transition (its state, its action or an extra) into values of the row and objects, and joins the part again. */
import { mustBe } from "../../base/error.ts";
import type { NumberArray } from "../../schema/dtype.ts";
import { isLeaf, isObject, shapeOf, sizeOf, zeroOf } from "../../schema/leaf.ts";
import { nested, nodeRule } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";
import { type PartLeaf, type PartSpec, valueReader } from "./leaf.ts";
import { copyObject } from "./object-value.ts";

/** The objects of one step, by the number of their column. */
export type RowValues = unknown[];

/** The columns into which leaves were read, by their path in the row. */
export type Columns = ReadonlyMap<string, NumberArray>;

export interface TransitionPart {
  /** The spec of the values that rows store; undefined if rows store nothing of the part. */
  readonly row: Spec | undefined;
  /** The number of the part's object columns. */
  readonly objects: number;
  /** Whether the row stores the value unchanged. */
  readonly direct: boolean;
  /** Returns the row's part of a value, and stores the value's objects in the record from `slot` on. */
  split(value: unknown, record: RowValues, slot: number): unknown;
  /** The row's value if the part is missing. */
  readonly zero: unknown;
  /** Returns the columns of the part: `leaf` creates the column of a leaf, and `list` creates an object column. */
  columns<T>(path: string, slot: number, leaf: (path: string) => T, list: (slot: number) => T): unknown;
  /** Returns a function that joins a value from the n-th elements of the columns at `path`. */
  join(path: string): (columns: Columns, n: number, record: RowValues | undefined, slot: number) => unknown;
}

/** Returns the part of a transition that a spec describes. @param name the name in messages */
export function partOfSpec(name: string, spec: PartSpec): TransitionPart {
  if (isObject(spec)) return objectPart(name);
  return isLeaf(spec) ? leafPart(spec) : nodePart(name, spec);
}

function objectPart(name: string): TransitionPart {
  return {
    row: undefined,
    objects: 1,
    direct: false,
    zero: undefined,
    split(value, record, slot) {
      record[slot] = copyObject(value, name);
      return undefined;
    },
    columns: (_, slot, __, list) => list(slot),
    join: () => (_, __, record, slot) => record?.[slot],
  };
}

function leafPart(leaf: PartLeaf): TransitionPart {
  return {
    row: leaf,
    objects: 0,
    direct: true,
    zero: zeroOf(leaf),
    split: (value) => value,
    columns: (path, _, column) => column(path),
    join(path) {
      const read = valueReader(leaf);
      const leafSize = sizeOf(shapeOf(leaf));
      return (columns, n) => read(columns.get(path) as NumberArray, n * leafSize);
    },
  };
}

function nodePart(name: string, spec: PartSpec): TransitionPart {
  const names = Object.keys(spec);
  const parts = names.map((key) => partOfSpec(`${name}.${key}`, (spec as { readonly [key: string]: PartSpec })[key] as PartSpec));
  const list = Array.isArray(spec);
  const objects = parts.reduce((sum, part) => sum + part.objects, 0);
  const direct = parts.every((part) => part.direct);
  const slots = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.objects, 0));
  const gather = (values: readonly unknown[]): unknown => {
    if (list && values.every((value) => value !== undefined)) return values;
    const present = names.map((key, i) => [key, values[i]] as const).filter(([, value]) => value !== undefined);
    return present.length === 0 ? undefined : Object.fromEntries(present);
  };
  return {
    row: gather(parts.map((part) => part.row)) as Spec | undefined,
    objects,
    direct,
    zero: gather(parts.map((part) => part.zero)),
    split(value, record, slot) {
      if (direct) return value;
      if (typeof value !== "object" || value === null || Object.keys(value).length !== names.length || !names.every((key) => Object.hasOwn(value, key)))
        throw mustBe("SPEC_MISMATCH", name, [nodeRule(names, value, name)[0], "Use object() in the spec for values of any structure"], value);
      return gather(parts.map((part, i) => part.split((value as { [key: string]: unknown })[names[i] as string], record, slot + (slots[i] as number))));
    },
    columns(path, slot, leaf, objectList) {
      const partValues = parts.map((part, i) => part.columns(`${path}.${names[i]}`, slot + (slots[i] as number), leaf, objectList));
      return nested(names, partValues, list);
    },
    join(path) {
      const joins = parts.map((part, i) => part.join(`${path}.${names[i]}`));
      return (columns, n, record, slot) => {
        const partValues = joins.map((join, i) => join(columns, n, record, slot + (slots[i] as number)));
        return nested(names, partValues, list);
      };
    },
  };
}
