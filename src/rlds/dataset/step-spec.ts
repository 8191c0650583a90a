/** The spec of a step from its values, and whether a step is what a spec says. */

import { mustBe } from "../../error.ts";
import type { Dtype } from "../../spec/dtype.ts";
import type { StepSpec } from "./dataset.ts";
import { fits, isColumn, isList, kindOf } from "./fit.ts";
import { type AnyLeaf, ARRAYS, isLeaf } from "./leaves.ts";
import { type Place, RldsError } from "./rlds-error.ts";

/** Deeper nesting is a circle. */
const DEEPEST = 64;

/** Of each class of typed arrays; bytes are u8. */
const DTYPES: { readonly [kind: string]: Dtype } = {
  ...Object.fromEntries(Object.entries(ARRAYS).map(([dtype, { name }]) => [name, dtype as Dtype])),
  Uint8Array: "u8",
  Uint8ClampedArray: "u8",
};
/** Of each kind of single value. */
const KINDS: { readonly [kind: string]: AnyLeaf["dtype"] } = { number: "f32", boolean: "bool", bigint: "i64", string: "string" };

const pathOf = (keys: readonly string[]) => keys.join("/") || "step";

/**
 * What a step is, by its values. A typed array tells its dtype, and is flat; a number is f32, a boolean bool, a bigint i64, a string text; arrays of these have
 * their nesting as shape; `{data, shape}` tells both; objects nest, and so do arrays of objects. What a value does not tell, such as an f64 that is a number,
 * must be said by a dataset's `stepSpec`. O(elements) for plain arrays, else O(leaves).
 * @param numbers the dtype of a number
 * @throws RldsError SPEC_MISMATCH for ragged, empty and mixed arrays, null and undefined; it names the path
 */
export function stepSpecOf(step: unknown, place: Place = {}, numbers: "f32" | "f64" = "f32"): StepSpec {
  return specOf(step, [], place, { ...KINDS, number: numbers });
}

function specOf(value: unknown, keys: readonly string[], place: Place, kinds: typeof KINDS): StepSpec {
  if (keys.length > DEEPEST) throw new RldsError("SPEC_MISMATCH", `${pathOf(keys.slice(0, 8))}/… must be nested less deeply, got a circle`, place);
  if (kinds[typeof value] !== undefined) return { dtype: kinds[typeof value] as "f32", shape: [] };
  if (Array.isArray(value) && isNode(value[0])) return value.map((part, i) => specOf(part, [...keys, String(i)], place, kinds));
  if (isList(value)) return listed(value, keys, place, kinds);
  if (!isNode(value)) throw mismatch(keys, "a number, boolean, bigint, string, array or object", value, place);
  if (isColumn(value)) {
    const { dtype } = value.data.length === 0 ? { dtype: "f32" as const } : listed(value.data, keys, place, kinds);
    return { dtype, shape: value.shape } as AnyLeaf;
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, specOf(part, [...keys, key], place, kinds)]));
}

/** An object that nests. */
function isNode(value: unknown): value is object {
  return typeof value === "object" && value !== null && !isList(value) && !ArrayBuffer.isView(value);
}

/** The leaf of an array, and of arrays in it. */
function listed(value: ArrayLike<unknown>, keys: readonly string[], place: Place, kinds: typeof KINDS): AnyLeaf {
  if (value.length === 0) throw mismatch(keys, "an array of at least one element", value, place);
  const typed = DTYPES[kindOf(value) ?? ""];
  if (typed !== undefined) return { dtype: typed, shape: [value.length] };
  if (!Array.isArray(value)) throw mismatch(keys, "an array of a dtype that a Replay has", value, place);
  const parts = value.map((part): AnyLeaf => {
    if (isList(part)) return listed(part, keys, place, kinds);
    const dtype = kinds[typeof part];
    if (dtype === undefined) throw mismatch(keys, "an array of numbers, booleans, bigints or strings", part, place);
    return { dtype: dtype as "f32", shape: [] };
  });
  const [{ dtype, shape }] = parts as [AnyLeaf];
  const other = parts.findIndex((part) => part.dtype !== dtype || String(part.shape) !== String(shape));
  if (other > 0) throw mismatch([...keys, String(other)], `${dtype} of shape [${shape.join(", ")}] as the one before it`, value[other], place);
  return { dtype, shape: [value.length, ...shape] } as AnyLeaf;
}

function mismatch(keys: readonly string[], rule: string, value: unknown, place: Place): RldsError {
  return new RldsError("SPEC_MISMATCH", mustBe(TypeError, pathOf(keys), rule, value).message, place);
}

/** What about a step is not as its spec says. */
export interface Misfit {
  readonly path: string;
  readonly rule: string;
  readonly value: unknown;
}

/** A check of many steps against one spec: the first misfit, or undefined. O(leaves) a step where values are typed arrays. */
export function stepChecker(spec: StepSpec): (step: unknown) => Misfit | undefined {
  return checkerOf(spec, []);
}

function checkerOf(spec: StepSpec, keys: readonly string[]): (value: unknown) => Misfit | undefined {
  const path = pathOf(keys);
  if (isLeaf(spec)) {
    const isFitting = fits(spec);
    const rule = `${spec.dtype} of shape [${spec.shape.join(", ")}]`;
    return (value) => (isFitting(value) ? undefined : { path, rule, value });
  }
  const names = Object.keys(spec);
  const checks = names.map((name) => checkerOf((spec as { readonly [name: string]: StepSpec })[name] as StepSpec, [...keys, name]));
  const rule = `nested with keys ${names.join(", ")}`;
  return (value) => {
    let seen = 0;
    if (typeof value === "object" && value !== null) for (const _ in value) seen++;
    if (seen !== names.length) return { path, rule, value };
    for (let i = 0; i < names.length; i++) {
      const misfit = (checks[i] as (value: unknown) => Misfit | undefined)((value as { [name: string]: unknown })[names[i] as string]);
      if (misfit !== undefined) return misfit;
    }
    return undefined;
  };
}

/** @throws RldsError SPEC_MISMATCH that names the path. Each call makes the check anew: `stepChecker` is for many steps */
export function checkStep(spec: StepSpec, step: unknown, place: Place = {}): void {
  const misfit = stepChecker(spec)(step);
  if (misfit !== undefined) throw misfitError(misfit, place);
}

export function misfitError({ path, rule, value }: Misfit, place: Place = {}): RldsError {
  return new RldsError("SPEC_MISMATCH", mustBe(TypeError, path, rule, value).message, place);
}
