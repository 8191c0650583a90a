/** Checks the spec of a transition, passed by the caller or inferred from the first transition. */
import { mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_NEST_DEPTH, MIN_PACKED_BYTES } from "../../base/limits.ts";
import { bool, f64, i64, type PackedOptions, packed } from "../../schema/constructors.ts";
import { dtypeOf, isDtype } from "../../schema/dtype.ts";
import { type InferRules, inferNest, isPlain, placeText } from "../../schema/infer.ts";
import { elementBytes, isLeaf, isObject, isText, type Leaf, type ObjectLeaf, object, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import { isSameNest, map, nested, zip } from "../../schema/nest.ts";
import { checkLeaf, leavesOf, type Spec } from "../../schema/spec.ts";
import { checkExtra, isTransitionField } from "../transition.ts";
import type { PartLeaf, PartSpec } from "./leaf.ts";

export interface StepSpec {
  readonly state: PartSpec;
  readonly action: PartSpec;
  /** The spec of the reward, a number. Default: f64(). */
  readonly reward?: Leaf;
  readonly extras?: { readonly [name: string]: PartSpec };
}

/** A spec in which no part is missing. */
export interface WholeSpec extends Required<StepSpec> {
  /** Whether the spec was inferred from the first transition. If so, extras that do not fit are stored as objects. */
  readonly inferred: boolean;
}

/** The minimum size in bytes of leaves and frames that are stored only once if the next transition, or another frame of the stack, has the same value. */
const SHARED_BYTES = 64;
/** The maximum number of frames in a stack. A longer array is stored as one value. */
const MAX_FRAMES = 1024;
/** The maximum number of extras that have a column. Each of them has one bit in the u32 `present` of a row. */
export const MAX_EXTRAS = 32;

/** Checks a spec from the caller. The engine checks its leaves. */
export function wholeSpec(input: StepSpec): WholeSpec {
  const { state, action, reward = f64(), extras = {} } = onlyKeys("spec", input, "state, action, reward, extras");
  if (state === undefined || action === undefined) throw mustBe(TypeError, "spec", "an object with state and action", input);
  if (!isLeaf(reward) || isText(reward) || isObject(reward) || checkLeaf(["reward"], reward).shape.length !== 0)
    throw mustBe(RangeError, "spec.reward", "a leaf of a single number", reward);
  if (typeof extras !== "object" || extras === null) throw mustBe(TypeError, "spec.extras", "an object of extras", extras);
  const names = Object.keys(extras);
  for (const name of names) {
    if (isTransitionField(name))
      throw mustBe(RangeError, "names in spec.extras", "names other than state, action, reward, nextState, nextAction, isStateTerminal and envId", name);
    checkExtra(name, extras[name]);
  }
  if (names.length > MAX_EXTRAS) throw mustBe(RangeError, "spec.extras", [`an object of at most ${MAX_EXTRAS} extras`, "Nest several extras in one"], extras);
  return {
    state: sharedIn("state", copyPartSpec("state", state)),
    action: sharedIn("action", copyPartSpec("action", action)),
    reward: { ...reward, shape: [] },
    extras: Object.fromEntries(names.map((name) => [name, copyPartSpec(`extras.${name}`, extras[name] as PartSpec)])),
    inferred: false,
  };
}

/** Infers a spec from the values of a transition. */
export function inferSpec(state: unknown, action: unknown, extras: { readonly [name: string]: unknown }): WholeSpec {
  const names = Object.keys(extras).slice(0, MAX_EXTRAS);
  return {
    state: sharedIn("state", infer(state, "state")),
    action: sharedIn("action", infer(action, "action")),
    reward: f64(),
    extras: Object.fromEntries(names.filter((name) => !name.includes(".")).map((name) => [name, infer(extras[name], name)])),
    inferred: true,
  };
}

const NUMBER: PartLeaf = { ...f64(), plain: true };

/** Plain numbers are f64, so that 1.5 fits after a first value of 1. A value that no typed array can store is an object. */
const RULES: InferRules<RowLeaf | ObjectLeaf> = {
  // Values that are nested deeper cannot be saved (src/storage/tags.ts).
  maxDepth: 128,
  errorFor: (rule, at) => new TypeError(`${placeText(at)} is ${rule}`),
  leaf(value) {
    if (typeof value === "number") return NUMBER;
    if (typeof value === "boolean") return bool();
    if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? i64() : object();
    const dtype = dtypeOf(value);
    if (dtype === undefined) return Array.isArray(value) || isPlain(value) ? undefined : object();
    const { length } = value as Uint8Array;
    return length === 0 ? object() : { dtype, shape: [length] };
  },
  // Values of the same form become one leaf with one more dimension. Other values become a tuple.
  list(values, parts) {
    const [first] = parts;
    if (first === undefined || parts.every(isObject)) return object();
    if (!isLeaf(first) || isObject(first) || !parts.every((part) => matchesSpec(part, first))) return parts;
    const { dtype, shape, nest = 0, plain } = first as PartLeaf;
    return { dtype, shape: [values.length, ...shape], nest: nest + 1, plain } as PartLeaf;
  },
  node: (names, parts) => (parts.every(isObject) || names.some((name) => name.includes(".")) ? object() : (nested(names, parts, false) as PartSpec)),
};

/** Infers the spec of a value. @throws TypeError for circular references, with their path */
export function infer(value: unknown, name: string): PartSpec {
  return inferNest(value, name, RULES);
}

/** Returns whether two specs describe values of the same form. */
export function matchesSpec(a: PartSpec, b: PartSpec): boolean {
  return isSameNest(a, b, (left, right) => left.dtype === right.dtype && String(shapeOf(left)) === String(shapeOf(right)));
}

/** Returns a private copy of a part of the caller's spec. @throws TypeError, RangeError if the part is not a valid spec */
function copyPartSpec(part: string, spec: PartSpec): PartSpec {
  const isEnd = (node: unknown, keys: readonly string[]) => typeof node !== "object" || node === null || isLeaf(node) || keys.length >= MAX_NEST_DEPTH;
  return zip([spec], isEnd, ([leaf], keys) => {
    const path = [part, ...keys];
    if (keys.length >= MAX_NEST_DEPTH) throw mustBe(RangeError, `spec.${path.slice(0, 4).join(".")}`, `nested at most ${MAX_NEST_DEPTH} levels deep`, leaf);
    if (!isLeaf(leaf)) throw mustBe(TypeError, `spec.${path.join(".")}`, "a leaf, an object or an array", leaf);
    if (isObject(leaf)) return object();
    checkLeaf(path, leaf as RowLeaf);
    return { ...(leaf as PartLeaf), shape: [...leaf.shape] };
  });
}

/** Returns the same spec with its larger leaves marked as shared with the preceding transition, and between the frames of a stack. */
function sharedIn(part: string, spec: PartSpec): PartSpec {
  return zip([spec], isLeaf, ([leaf], keys) => (isObject(leaf) ? leaf : sharedLeaf([part, ...keys].join("."), leaf as PartLeaf)));
}

function sharedLeaf(path: string, leaf: PartLeaf): RowLeaf {
  const { dtype, shape, nest = 0, shared } = leaf;
  const bytes = shared === undefined && (isDtype(dtype) || dtype === "string") ? sizeOf(shape) * elementBytes(leaf) : 0;
  if (!(bytes >= SHARED_BYTES)) return leaf;
  const [frames = 0, ...frame] = shape;
  // An array of frames is a stack. Nested arrays of plain numbers are a single value.
  const isStacked = nest > 0 && nest < shape.length && frames <= MAX_FRAMES && bytes / frames >= SHARED_BYTES;
  return isStacked ? { ...leaf, shape: frame, shared: path, stack: frames } : { ...leaf, shared: path };
}

/** Returns the spec of a row with its shared frames packed, except those that are too small. */
export function packedRow(row: Spec, options: PackedOptions): Spec {
  return map(row, (leaf: RowLeaf) => (isPackable(leaf) ? packed(leaf.shared as string, leaf as Leaf, leaf.stack as number, options) : leaf)) as Spec;
}

/** Returns whether a row has frames that could be packed but are not. */
export function hasPackable(row: Spec): boolean {
  return leavesOf(row).some(({ leaf }) => isPackable(leaf));
}

function isPackable(leaf: RowLeaf): boolean {
  return leaf.shared !== undefined && leaf.packed === undefined && sizeOf(leaf.shape) * elementBytes(leaf) >= MIN_PACKED_BYTES;
}
