/** Converts recorded trajectories to columns, and our values to nested numbers with the recorded names. */
import { Column, type ColumnLike, isColumn } from "../../../src/schema/column.ts";
import { DTYPES, type Dtype } from "../../../src/schema/dtype.ts";
import { NUMPY } from "../../support/numpy-dtypes.ts";
import { isObject, Malformed, numberOf } from "../case.ts";
import { nested } from "../nested.ts";
import { ourSpec } from "../step-spec.ts";

type Fields = { readonly [field: string]: unknown };

/** Our names of the fields of trajectories, transitions and their parts, by their recorded names. Fields with the same name in both are omitted. */
const NAMES: { readonly [theirs: string]: string } = {
  step_type: "stepType",
  next_step_type: "nextStepType",
  policy_info: "policyInfo",
  time_step: "timeStep",
  action_step: "actionStep",
  next_time_step: "nextTimeStep",
};
const THEIRS = Object.fromEntries(Object.entries(NAMES).map(([theirs, ours]) => [ours, theirs]));

export const ours = (field: string): string => NAMES[field] ?? field;

/** Converts nested numbers to a column with the given dtype. The nesting determines the shape. */
export function columnOf(dtype: Dtype, value: unknown): Column {
  const shape: number[] = [];
  for (let part = value; Array.isArray(part); part = part[0]) shape.push(part.length);
  const flat = [value].flat(Number.POSITIVE_INFINITY).map(numberOf);
  const data = new DTYPES[dtype].array(flat.length);
  for (const [i, one] of flat.entries())
    data[i] = (data instanceof BigInt64Array || data instanceof BigUint64Array ? BigInt(one as number) : Number(one)) as never;
  return new Column(data as Column["data"], shape);
}

/** Converts a value to a nest of columns with the dtypes of the spec. */
export function given(spec: unknown, value: unknown): unknown {
  const node = spec as Fields | undefined;
  if (isObject(node) && typeof node.dtype === "string") return columnOf((ourSpec(node) as { dtype: Dtype }).dtype, value);
  if (Array.isArray(spec)) return (value as unknown[]).map((part, i) => given(spec[i], part));
  if (isObject(node) && isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, given(node[key], part)]));
  throw new Malformed(`no spec of ${JSON.stringify(value)}`);
}

/** Converts columns without dimensions to numbers, and columns with one dimension to typed arrays. Other columns stay unchanged. */
export function loose(nest: unknown): unknown {
  if (isColumn(nest)) return nest.shape.length === 0 ? Number(nest.data[0]) : nest.shape.length === 1 ? nest.data : nest;
  if (Array.isArray(nest)) return nest.map(loose);
  return Object.fromEntries(Object.entries(nest as Fields).map(([key, part]) => [key, loose(part)]));
}

const FIELDS = ["step_type", "observation", "action", "policy_info", "next_step_type", "reward", "discount"];

/** Converts the fields of a case to columns according to its spec, under our names. */
export function fieldsOf(spec: Fields, value: Fields): Fields {
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [ours(field), given(specOf(spec, field), part)]));
}

export function specOf(spec: Fields, field: string): unknown {
  // A policy's answer calls the field `info` that a trajectory calls `policy_info`.
  const name = field === "info" ? "policy_info" : field;
  return spec[name] ?? (["policy_info", "state"].includes(name) ? [] : spec[field]);
}

/** Converts a trajectory, a time step, the answer of a policy, or a transition, which consists of time steps and such an answer. */
export function partOf(spec: Fields, value: Fields): Fields {
  if (!("time_step" in value)) return fieldsOf(spec, value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [ours(name), fieldsOf(spec, part as Fields)]));
}

/** Converts the spec of a case to a trajectory spec. */
export function trajectorySpecOf(spec: Fields): Fields {
  return Object.fromEntries(FIELDS.map((field) => [ours(field), ourSpec(specOf(spec, field))]));
}

/** Converts the columns in a value to nested numbers. */
export function plain(value: unknown): unknown {
  return folded(value, ({ data, shape }) => nested([...(data as Float32Array)].map(Number), shape));
}

export function dtypes(value: unknown): unknown {
  return folded(value, ({ data }) => {
    const found = (Object.keys(DTYPES) as Dtype[]).find((dtype) => dtype !== "bool" && data instanceof DTYPES[dtype].array);
    return found === undefined ? null : NUMPY[found];
  });
}

function folded(value: unknown, leaf: (column: ColumnLike) => unknown): unknown {
  if (isColumn(value)) return leaf(value);
  if (ArrayBuffer.isView(value)) return leaf({ data: value as Column["data"], shape: [(value as unknown as Float32Array).length] });
  if (Array.isArray(value)) return value.map((part) => folded(part, leaf));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [THEIRS[key] ?? key, folded(part, leaf)]));
  return leaf({ data: [value] as never, shape: [] });
}

/** Converts our spec to the format of the cases. */
export function plainSpec(spec: unknown): unknown {
  const node = spec as { readonly dtype?: Dtype; readonly shape?: readonly number[] };
  if (typeof node.dtype === "string") return { shape: [...(node.shape as readonly number[])], dtype: NUMPY[node.dtype] };
  if (Array.isArray(spec)) return spec.map(plainSpec);
  return Object.fromEntries(Object.entries(spec as Fields).map(([key, part]) => [THEIRS[key] ?? key, plainSpec(part)]));
}
