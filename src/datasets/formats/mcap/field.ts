/** Converts fields of messages to values of leaves, with numbers in typed arrays and texts in lists. */
import { MAX_NEST_DEPTH } from "../../../base/limits.ts";
import { nearestWord } from "../../../base/nearest-word.ts";
import { DTYPES, type Dtype } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/column-data.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import type { MessageField, MessageType } from "./message-type.ts";

/** One value of a leaf, with its dtype and shape. */
export interface FieldValue {
  readonly dtype: Dtype | "string";
  readonly shape: readonly number[];
  readonly data: ColumnData;
}

type ValueDtype = Dtype | "string";

const DTYPES_OF_ROS: { readonly [type: string]: ValueDtype } = {
  ...{ bool: "bool", int8: "i8", uint8: "u8", int16: "i16", uint16: "u16", int32: "i32", uint32: "u32", int64: "i64", uint64: "u64" },
  ...{ float32: "f32", float64: "f64", string: "string", wstring: "string", time: "i64", duration: "i64" },
};
const NANOSECONDS = 1_000_000_000n;
/** The maximum number of fields that an error names. */
const MAX_SHOWN = 20;
/** The fields of a time that the decoder returns: `sec`, and either `nanosec` or `nsec`. */
const TIME_FIELDS: readonly MessageField[] = [
  { name: "sec", type: "int32" },
  { name: "nanosec", type: "uint32" },
  { name: "nsec", type: "uint32" },
];

/**
 * Returns the value of one field, or a vector of the values of several fields. @param bytes the size of the message, which limits the number of elements
 * @throws Error if a field is missing, mixes types that have no common dtype, or has lists of different lengths
 */
export function fieldValue(message: unknown, type: MessageType, paths: readonly string[], bytes: number): FieldValue {
  const parts = paths.map((path) => {
    const value = unwrapped(valueAt(message, path));
    return { path, value, shape: shapeOf(value, 0) };
  });
  const dtype = dtypeOfAll(parts.map(({ path, value }) => (type.fields === undefined ? jsonDtype(value, path) : rosDtype(type, path))));
  const name = paths.join(", ") || "the message";
  const [only] = parts;
  const shape = parts.length === 1 && only !== undefined ? only.shape : [parts.reduce((sum, part) => sum + sizeOf(part.shape), 0)];
  if (sizeOf(shape) > bytes * paths.length) throw new Error(`${name} has lists of different lengths`);
  const elements: unknown[] | undefined = dtype === "string" ? [] : undefined;
  const array = dtype === "string" ? undefined : new DTYPES[dtype].array(sizeOf(shape));
  let done = 0;
  const put = (value: unknown): void => {
    if (typeof value === "object" && value !== null) {
      if (isTime(value)) put(timeOf(value));
      else if (
        ArrayBuffer.isView(value) &&
        array !== undefined &&
        value.constructor === array.constructor &&
        done + (value as Uint8Array).length <= array.length
      ) {
        (array as Uint8Array).set(value as Uint8Array, done);
        done += (value as Uint8Array).length;
      } else for (const part of ArrayBuffer.isView(value) ? (value as Uint8Array) : Object.values(value)) put(part);
    } else if (elements !== undefined) {
      if (typeof value !== "string") throw new Error(`${name} mixes strings with other values`);
      elements.push(value);
    } else {
      if (typeof value === "string" || value === undefined) throw new Error(`${name} mixes numbers with other values`);
      if (done < (array as Uint8Array).length)
        (array as { [i: number]: unknown })[done] = DTYPES[dtype as Dtype].big ? BigInt(value as bigint) : Number(value ?? Number.NaN);
      done++;
    }
  };
  for (const { value } of parts) put(value);
  if ((elements?.length ?? done) !== sizeOf(shape)) throw new Error(`${name} has lists of different lengths`);
  return { dtype, shape, data: (elements ?? array) as ColumnData };
}

/** Returns the leaf that describes the values of a field. */
export function leafOfValue({ dtype, shape }: FieldValue): StepLeaf {
  return { dtype, shape } as StepLeaf;
}

/** Returns the value at a path such as `pose.position.x` or `data.0`. An empty path selects the whole value. @throws Error if the field does not exist */
export function valueAt(message: unknown, path: string): unknown {
  let at = message;
  const names = path === "" ? [] : path.split(".");
  for (const [i, name] of names.entries()) {
    // The elements of a list can be selected, but its length cannot.
    const isPart = typeof at === "object" && at !== null && Object.hasOwn(at, name) && !(Array.isArray(at) && name === "length");
    if (!isPart) throw new Error(`the message has no field ${names.slice(0, i + 1).join(".")}${remedyOf(at, name)}`);
    at = (at as { readonly [name: string]: unknown })[name];
  }
  return at;
}

/** Returns the end of the error message for a missing field: the fields or indices that exist, and the nearest name if one is similar. */
function remedyOf(at: unknown, name: string): string {
  if (typeof at !== "object" || at === null) return "";
  if (Array.isArray(at) || ArrayBuffer.isView(at)) {
    const { length } = at as unknown[];
    return length === 0 ? ". The list is empty" : `. The indices of the list are 0 … ${length - 1}`;
  }
  const names = Object.keys(at);
  if (names.length === 0) return "";
  const near = nearestWord(name, names);
  return `${near === undefined ? "." : `. Did you mean ${near}?`} The fields are ${names.slice(0, MAX_SHOWN).join(", ")}`;
}

/** Unwraps messages that have a single field, such as the messages of std_msgs, until the value is anything else. */
function unwrapped(value: unknown): unknown {
  let at = value;
  for (let depth = 0; depth < MAX_NEST_DEPTH && typeof at === "object" && at !== null && !Array.isArray(at) && !ArrayBuffer.isView(at); depth++) {
    const parts = Object.values(at);
    if (parts.length !== 1) break;
    at = parts[0];
  }
  return at;
}

function shapeOf(value: unknown, depth: number): number[] {
  if (depth > MAX_NEST_DEPTH) throw new Error(`the value is nested more than ${MAX_NEST_DEPTH} levels deep`);
  if (typeof value !== "object" || value === null || isTime(value)) return [];
  if (ArrayBuffer.isView(value)) return [(value as Uint8Array).length];
  if (Array.isArray(value)) return [value.length, ...(value.length === 0 ? [] : shapeOf(value[0], depth + 1))];
  return [Object.values(value).reduce((sum: number, part) => sum + sizeOf(shapeOf(part, depth + 1)), 0)];
}

interface Time {
  readonly sec: number;
  readonly nanosec?: number;
  readonly nsec?: number;
}

function isTime(value: object): value is Time {
  const names = Object.keys(value);
  return names.length === 2 && names[0] === "sec" && (names[1] === "nanosec" || names[1] === "nsec");
}

/** Returns a time in nanoseconds. @throws Error if the value is not a time */
export function timeOf(value: unknown): bigint {
  if (typeof value !== "object" || value === null || !isTime(value)) throw new Error("the field is not a time with sec and nanosec");
  const { sec, nanosec, nsec } = value;
  return BigInt(sec) * NANOSECONDS + BigInt(nanosec ?? nsec ?? 0);
}

/** Returns the dtype of a JSON value. Numbers are f64, because JSON has only one type for numbers. */
function jsonDtype(value: unknown, path: string): ValueDtype {
  if (typeof value === "object" && value !== null) return isTime(value) ? "i64" : dtypeOfAll(Object.values(value).map((part) => jsonDtype(part, path)));
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "bool" : "f64";
}

/** Returns the dtype that the schema declares for a field. @throws Error if the parts of the field have no common dtype */
function rosDtype({ fields = [], types }: MessageType, path: string): ValueDtype {
  let all = fields;
  let type: string | undefined;
  for (const name of path === "" ? [] : path.split(".")) {
    // A number is the index of an element, which has the type of its list.
    if (/^\d+$/.test(name)) continue;
    const field = all.find((field) => field.name === name && !field.isConstant) as MessageField;
    type = field.isComplex ? undefined : field.type;
    if (field.isComplex) all = types?.get(field.type) ?? [];
    else all = field.type === "time" || field.type === "duration" ? TIME_FIELDS : [];
  }
  const dtypes = new Set<ValueDtype>();
  const visits = new Set<readonly MessageField[]>();
  const visit = (fields: readonly MessageField[]) => {
    if (visits.has(fields)) return;
    visits.add(fields);
    for (const field of fields) {
      if (field.isConstant) continue;
      if (field.isComplex) visit(types?.get(field.type) ?? []);
      else dtypes.add(DTYPES_OF_ROS[field.type] as ValueDtype);
    }
  };
  if (type !== undefined) dtypes.add(DTYPES_OF_ROS[type] as ValueDtype);
  else visit(all);
  return dtypeOfAll([...dtypes]);
}

/**
 * Returns the common dtype of values: f64 if numbers or flags have different dtypes. @throws Error if strings or 64-bit integers are mixed with other dtypes
 */
function dtypeOfAll(dtypes: readonly ValueDtype[]): ValueDtype {
  const all = [...new Set(dtypes)];
  const [only = "f64"] = all;
  if (all.length < 2) return only;
  if (all.some((dtype) => dtype === "string" || dtype === "i64" || dtype === "u64"))
    throw new Error(`the value mixes the dtypes ${all.join(", ")}. Set field to a list of fields with the same dtype`);
  return "f64";
}
