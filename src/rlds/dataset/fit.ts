/** Whether a value is what a leaf says. The rules are those of a Replay's writer, and text beside them. */
import type { ArrayOf, Dtype } from "../../spec/dtype.ts";
import { type AnyLeaf, ARRAYS, sizeOf } from "./leaves.ts";

type Test = (value: unknown) => boolean;

/** Least and most of each dtype that is no float. */
export const BOUNDS: { readonly [D in Dtype]?: readonly [number | bigint, number | bigint] } = {
  bool: [0, 1],
  i8: [-128, 127],
  u8: [0, 255],
  i16: [-32768, 32767],
  u16: [0, 65535],
  i32: [-2147483648, 2147483647],
  u32: [0, 4294967295],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
};

/** The name of a typed array's class, also of subclasses and other realms. */
export function kindOf(value: unknown): string | undefined {
  return ArrayBuffer.isView(value) ? (value as { readonly [Symbol.toStringTag]?: string })[Symbol.toStringTag] : undefined;
}

/** Whether a single value is of a dtype. */
function elementOf(dtype: AnyLeaf["dtype"]): Test {
  if (dtype === "string") return (value) => typeof value === "string";
  if (dtype === "bytes") return (value) => kindOf(value) === "Uint8Array";
  if (dtype === "f32" || dtype === "f64") return (value) => typeof value === "number";
  const [least, most] = BOUNDS[dtype] as readonly [number, number];
  const inBounds = (value: unknown) => (value as number) >= least && (value as number) <= most;
  if (dtype === "i64" || dtype === "u64") return (value) => (typeof value === "bigint" || Number.isSafeInteger(value)) && inBounds(value);
  const whole: Test = (value) => Number.isInteger(value) && inBounds(value);
  return dtype === "bool" ? (value) => typeof value === "boolean" || whole(value) : whole;
}

/** A value with its shape beside it. */
export function isColumn(value: unknown): value is { readonly data: ArrayLike<unknown>; readonly shape: readonly number[] } {
  const { data, shape } = (value ?? {}) as { data?: ArrayLike<unknown>; shape?: unknown };
  return Array.isArray(shape) && shape.every((n) => Number.isInteger(n) && n >= 0) && isList(data) && data.length === sizeOf(shape);
}

/** An array of any kind. */
export function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** Whether a value is the typed array of a dtype, also a clamped one of u8, or one of another realm; of text none is. */
export function typedAs(dtype: AnyLeaf["dtype"]): (value: unknown) => value is ArrayOf<"f32"> {
  const kind = dtype === "string" || dtype === "bytes" ? "none" : ARRAYS[dtype].name;
  return (value): value is ArrayOf<"f32"> => {
    const found = kindOf(value);
    return found !== undefined && (found === kind || (dtype === "u8" && found === "Uint8ClampedArray"));
  };
}

/**
 * Takes: a typed array of the dtype with as many elements as the shape says; nested or flat arrays of single values; a single value where the shape is [];
 * `{data, shape}` of the same shape. O(1) for typed arrays.
 */
export function fits(leaf: AnyLeaf): Test {
  const { dtype, shape } = leaf;
  const size = sizeOf(shape);
  const element = elementOf(dtype);
  const isTyped = typedAs(dtype);
  const nested = (value: unknown, depth: number): boolean => {
    if (depth === shape.length) return element(value);
    const below = sizeOf(shape.slice(depth + 1));
    if (isTyped(value)) return value.length === below * (shape[depth] as number);
    return Array.isArray(value) && value.length === shape[depth] && value.every((part) => nested(part, depth + 1));
  };
  const flat = (value: unknown): boolean => (isTyped(value) ? value.length === size : Array.isArray(value) && value.length === size && value.every(element));
  return (value) => {
    if (isTyped(value)) return value.length === size;
    if (shape.length === 0 && element(value)) return true;
    if (Array.isArray(value)) return shape.length > 0 && (nested(value, 0) || flat(value));
    return isColumn(value) && value.shape.length === shape.length && shape.every((n, i) => n === value.shape[i]) && flat(value.data);
  };
}
