/** Converts values of PFRL cases to ours, and vice versa (pfrl/README.md). */
import { isObject, numberOf } from "../case.ts";

type Typed = Float64Array;
type TypedClass = { new (values: ArrayLike<unknown>): Typed };

const ARRAYS: { readonly [dtype: string]: TypedClass } = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as object as { readonly [dtype: string]: TypedClass };

/** Converts a value of a case to the form that programs use: arrays of several dimensions become arrays of typed arrays. */
export function decode(value: unknown): unknown {
  if (typeof value === "string") return numberOf(value);
  if (Array.isArray(value)) return value.map(decode);
  if (!isObject(value)) return value;
  if (typeof value.$nd !== "string") return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, decode(part)]));
  const data = value.data as unknown[];
  const shape = (value.shape as number[] | undefined) ?? [data.length];
  return nest(value.$nd, (Array.isArray(data[0]) ? data.flat(Number.POSITIVE_INFINITY) : data).map(numberOf) as number[], shape);
}

function nest(dtype: string, data: readonly unknown[], shape: readonly number[]): unknown {
  const [n = 1, ...rest] = shape;
  if (shape.length === 0) return single(dtype, data[0]);
  if (rest.length > 0) {
    const each = data.length / n;
    return Array.from({ length: n }, (_, i) => nest(dtype, data.slice(i * each, (i + 1) * each), rest));
  }
  if (dtype === "bool") return data.map(Boolean);
  const array = ARRAYS[dtype];
  if (array === undefined) throw new Error(`no array of ${dtype}`);
  return new array(data.map((value) => single(dtype, value)));
}

function single(dtype: string, value: unknown): unknown {
  return dtype.endsWith("int64") ? BigInt(value as number) : value;
}

/** Returns NumPy's name for the dtype of our array. */
export function dtypeOf(array: unknown): string | undefined {
  return Object.keys(ARRAYS).find((dtype) => array instanceof (ARRAYS[dtype] as TypedClass));
}

/** Converts our value to the format of the case. */
export function encode(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (ArrayBuffer.isView(value)) return { $nd: dtypeOf(value), data: Array.from(value as Typed, encode), shape: [(value as Typed).length] };
  if (Array.isArray(value)) return arrays(value.map(encode));
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, encode(part)])) : value;
}

/** Combines encoded arrays into one array with one more dimension. Other values stay unchanged. */
function arrays(parts: readonly unknown[]): unknown {
  const [first] = parts;
  if (!isObject(first) || typeof first.$nd !== "string") return parts;
  return { $nd: first.$nd, data: parts.flatMap((part) => (part as { data: unknown[] }).data), shape: [parts.length, ...(first.shape as number[])] };
}

const TOLERANCE = 1e-9;

/** Returns a description of the first difference, or undefined if there is none. */
export function differenceOf(path: string, expected: unknown, got: unknown): string | undefined {
  const [want, have] = [numberOf(expected), numberOf(got)];
  if (typeof want === "number" && typeof have === "number") return close(want, have) ? undefined : differs(path, want, have);
  if (!isNode(want) || !isNode(have)) return want === have ? undefined : differs(path, want, have);
  if (Array.isArray(want) !== Array.isArray(have)) return differs(path, want, have);
  if (Array.isArray(want) && want.length !== (have as unknown[]).length) return differs(path, want, have);
  for (const key of new Set([...Object.keys(want), ...Object.keys(have)])) {
    // An array without a stated shape has one dimension.
    if (key === "shape" && "$nd" in want && !("shape" in want)) continue;
    const found = differenceOf(`${path}${Array.isArray(want) ? `[${key}]` : `.${key}`}`, (want as never)[key], (have as never)[key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isNode(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function close(a: number, b: number): boolean {
  return Object.is(a, b) || a === b || Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
}

function differs(path: string, expected: unknown, got: unknown): string {
  return `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`;
}
