/** Converts steps of a case to the forms that observers accept, and items to the form of a case. */
import { type Column, flatten, type Spec } from "../../../src/index.ts";
import { isObject, Malformed } from "../case.ts";
import { nested, nestedColumn } from "../nested.ts";
import { build, ourSpec } from "../step-spec.ts";

/** Our names of the fields of a trajectory, by their recorded names. Fields with the same name in both are omitted. */
const FIELDS = { step_type: "stepType", policy_info: "policyInfo", next_step_type: "nextStepType" } as { readonly [field: string]: string };
const ORDER = ["step_type", "observation", "action", "policy_info", "next_step_type", "reward", "discount"];

export function ourFields(trajectory: unknown): { readonly [field: string]: unknown } {
  if (!isObject(trajectory)) throw new Malformed(`a step must be an object with a trajectory's fields, got ${JSON.stringify(trajectory)}`);
  return Object.fromEntries(Object.entries(trajectory).map(([field, value]) => [FIELDS[field] ?? field, value]));
}

export function trajectorySpecOf(theirs: unknown): Spec {
  return ourFields(ourSpec(theirs)) as Spec;
}

export interface How {
  readonly form?: "flat" | "dict" | "python" | "tensor" | "batched";
  readonly batch?: number;
  readonly spec?: unknown;
}

/** Converts a step to the form that the op passes: plain values, columns, a batch, or a flat list of leaves. */
export function stepOf(theirs: unknown, value: unknown, { form, batch = 1, spec }: How): unknown {
  const own = spec ?? theirs;
  const step = ourFields(value);
  if (form === "python") return step;
  const typed = build(ourFields(own), step);
  if (form === "tensor" || form === "batched" || spec !== undefined) return columns(ourFields(own), typed, form === "batched" ? batch : undefined);
  const plain = scalars(ourFields(own), typed);
  if (form !== "flat") return plain;
  return ORDER.flatMap((field) => {
    const name = FIELDS[field] ?? field;
    return flatten(ourSpec((own as { [field: string]: unknown })[field]), (plain as { [field: string]: unknown })[name]);
  });
}

interface LeafSpec {
  readonly dtype: string;
  readonly shape: readonly number[];
}

const isLeaf = (spec: unknown): spec is LeafSpec => isObject(spec) && typeof spec.dtype === "string";

/** Applies `make` to every leaf of a spec and its value, and keeps the nesting. */
function mapLeaves(spec: unknown, value: unknown, make: (spec: LeafSpec, array: ArrayLike<unknown>) => unknown): unknown {
  if (isLeaf(spec)) return make(spec, value as ArrayLike<unknown>);
  if (Array.isArray(spec)) return spec.map((node, i) => mapLeaves(node, (value as unknown[])[i], make));
  return Object.fromEntries(Object.entries(spec as object).map(([key, node]) => [key, mapLeaves(node, (value as { [key: string]: unknown })[key], make)]));
}

/** Converts every leaf with an empty shape to a number. Other leaves stay typed arrays. */
export function scalars(spec: unknown, typed: unknown): unknown {
  return mapLeaves(spec, typed, ({ shape }, array) => (shape.length === 0 ? array[0] : array));
}

/** Converts every leaf to a column. If `batch` is set, the column repeats the step that many times. */
function columns(spec: unknown, typed: unknown, batch: number | undefined): unknown {
  return mapLeaves(spec, typed, ({ shape }, array) => {
    if (batch === undefined) return { data: array, shape };
    const rows = Array.from({ length: batch }, () => [...(array as unknown as Iterable<never>)]).flat();
    return { data: (array.constructor as unknown as { from(rows: never[]): unknown }).from(rows), shape: [batch, ...shape] };
  });
}

/** Returns the leaves of an item as plain nested values with a time dimension, in the order of a trajectory's fields, and the dtypes of the leaves. */
export function leavesOfItem(theirs: unknown, steps: unknown): { readonly values: unknown[]; readonly dtypes: string[] } {
  const fields = steps as { readonly [field: string]: unknown };
  const found = ORDER.flatMap((field) => flatten(ourSpec((theirs as { [field: string]: unknown })[field]), fields[FIELDS[field] ?? field])) as Column[];
  const dtypeOf = ({ data }: Column) => NUMPY[data.constructor.name] ?? data.constructor.name;
  return { values: found.map(({ data, shape }) => nestedColumn({ data, shape: shape.slice(1) })), dtypes: found.map(dtypeOf) };
}

const NUMPY: { readonly [array: string]: string } = {
  Int8Array: "int8",
  Uint8Array: "uint8",
  Int16Array: "int16",
  Uint16Array: "uint16",
  Int32Array: "int32",
  Uint32Array: "uint32",
  BigInt64Array: "int64",
  BigUint64Array: "uint64",
  Float32Array: "float32",
  Float64Array: "float64",
};

/** Returns the leaves of a padding step: its step type is 2 (last), and all other values are 0. */
export function leavesOfPadding(theirs: unknown): unknown[] {
  return ORDER.flatMap((field) =>
    leavesOf((theirs as { [field: string]: unknown })[field]).map(({ shape }) =>
      field === "step_type" ? 2 : nested(new Array(shape.reduce((product, n) => product * n, 1)).fill(0), shape),
    ),
  );
}

function leavesOf(spec: unknown): LeafSpec[] {
  return flatten(ourSpec(spec), spec) as LeafSpec[];
}

/** Returns the leaves of a recorded step or item in the order of a trajectory's fields. A list is returned unchanged, because its leaves are in this order. */
export function leavesOfRecorded(theirs: unknown, given: unknown): unknown[] {
  if (Array.isArray(given)) return given;
  return ORDER.flatMap((field) => flatten(ourSpec((theirs as { [field: string]: unknown })[field]), (given as { [field: string]: unknown })[field]));
}
