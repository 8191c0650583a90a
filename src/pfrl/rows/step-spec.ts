/** The spec of a transition: as it is given, or as the first one looks. */
import { mustBe, onlyKeys } from "../../error.ts";
import { f64, type Leaf } from "../../spec/leaf.ts";
import { checkExtra, isOwnKey } from "../transition.ts";
import { ARRAYS, dimsOf, dtypeOf, isLeaf, isObject, object, type PartLeaf, type PartSpec, sizeOf } from "./leaf.ts";

export interface StepSpec {
  readonly state: PartSpec;
  readonly action: PartSpec;
  /** A number; f64() where it is left out. */
  readonly reward?: Leaf;
  readonly extras?: { readonly [name: string]: PartSpec };
}

/** A spec with nothing left out. */
export interface WholeSpec extends Required<StepSpec> {
  /** Whether the first transition told it: then extras that do not fit are kept as objects. */
  readonly inferred: boolean;
}

/** States and actions of at least so many bytes are kept once where the next transition, or another frame of a stack, has the same. */
const SHARED_BYTES = 64;
/** Frames of a stack. */
const MOST_FRAMES = 1024;
/** Extras whose absence is noted in the row. */
export const MOST_EXTRAS = 32;

/** Checks a spec that is given. The engine checks its leaves. */
export function specOf(given: StepSpec): WholeSpec {
  const { state, action, reward = f64(), extras = {} } = onlyKeys("spec", given, "state, action, reward, extras");
  if (state === undefined || action === undefined) throw mustBe(TypeError, "spec", "of state and action", given);
  if (!isLeaf(reward) || reward.shape.length !== 0) throw mustBe(RangeError, "spec.reward", "a leaf that is one number", reward);
  const names = Object.keys(onlyKeys("spec.extras", extras, Object.keys(extras).join(", ")));
  for (const name of names) {
    if (isOwnKey(name))
      throw mustBe(RangeError, "spec.extras", "named otherwise than state, action, reward, nextState, nextAction, isStateTerminal, envId", name);
    checkExtra(name, extras[name]);
  }
  if (names.length > MOST_EXTRAS) throw mustBe(RangeError, "spec.extras", `at most ${MOST_EXTRAS} (nest them in one)`, extras);
  return { state: sharedIn("state", state), action: sharedIn("action", action), reward, extras, inferred: false };
}

/** The spec of what a transition has. */
export function inferSpec(state: unknown, action: unknown, extras: { readonly [name: string]: unknown }): WholeSpec {
  const names = Object.keys(extras).slice(0, MOST_EXTRAS);
  return {
    state: sharedIn("state", infer(state, "state")),
    action: sharedIn("action", infer(action, "action")),
    reward: f64(),
    extras: Object.fromEntries(names.filter((name) => !name.includes(".")).map((name) => [name, infer(extras[name], name)])),
    inferred: true,
  };
}

const NUMBER: PartLeaf = { ...f64(), plain: true };

/** Where in a value one looks; the step goes on with the look. */
interface Place {
  step: string | number;
  readonly holds: unknown;
  readonly above: Place | undefined;
  readonly depth: number;
}

/** What is nested deeper cannot be saved (src/store/tags.ts). */
const MOST_DEPTH = 128;

/** What a value looks like: plain numbers are f64, so that 1.5 fits where 1 came first. @throws TypeError for circles, by their path */
export function infer(value: unknown, name: string): PartSpec {
  return inferAt(value, { step: name, holds: undefined, above: undefined, depth: 0 });
}

function inferAt(value: unknown, place: Place): PartSpec {
  if (typeof value === "number") return NUMBER;
  if (typeof value === "boolean") return { dtype: "bool", shape: [] };
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? { dtype: "i64", shape: [] } : object();
  const dtype = dtypeOf(value);
  if (dtype !== undefined) return (value as Uint8Array).length === 0 ? object() : { dtype, shape: [(value as Uint8Array).length] };
  if (Array.isArray(value)) return inferList(value, inside(value, place));
  if (!isPlain(value)) return object();
  const names = Object.keys(value);
  const here = inside(value, place);
  const parts = names.map((name) => {
    here.step = name;
    return inferAt(value[name], here);
  });
  if (parts.every(isObject) || names.some((name) => name.includes("."))) return object();
  return Object.fromEntries(names.map((name, i) => [name, parts[i] as PartSpec]));
}

function inside(value: object, above: Place): Place {
  const depth = above.depth + 1;
  for (let at: Place | undefined = above; at !== undefined; at = at.above)
    if (at.holds === value) throw new TypeError(`${pathOf(above)} is a circle: it is part of itself`);
  if (depth > MOST_DEPTH) throw new TypeError(`${pathOf(above)} is nested more than ${MOST_DEPTH} deep`);
  return { step: "", holds: value, above, depth };
}

function pathOf({ step, above }: Place): string {
  if (above === undefined) return String(step);
  return pathOf(above) + (typeof step === "number" ? `[${step}]` : `.${step}`);
}

/** Values that are alike are one leaf with a dimension more, others a tuple. */
function inferList(values: readonly unknown[], here: Place): PartSpec {
  const parts = values.map((value, i) => {
    here.step = i;
    return inferAt(value, here);
  });
  const first = parts[0];
  if (first === undefined || parts.every(isObject)) return object();
  if (!isLeaf(first) || isObject(first) || !parts.every((part) => alike(part, first))) return parts;
  const { dtype, shape, nest = 0, plain } = first as PartLeaf;
  return { dtype, shape: [values.length, ...shape], nest: nest + 1, plain } as PartLeaf;
}

/** Whether two specs describe values of one form. */
export function alike(a: PartSpec, b: PartSpec): boolean {
  if (isLeaf(a) || isLeaf(b)) {
    if (!isLeaf(a) || !isLeaf(b)) return false;
    return a.dtype === b.dtype && (isObject(a) || String(dimsOf(a as Leaf)) === String(dimsOf(b as Leaf)));
  }
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && alike(partOf(a, name), partOf(b, name)));
}

export function partOf(spec: PartSpec, name: string): PartSpec {
  return (spec as { readonly [name: string]: PartSpec })[name] as PartSpec;
}

/** An object of the language itself, no instance of a class. */
export function isPlain(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The same spec, its larger leaves shared: with the transition before, and a stack's frames with each other. */
function sharedIn(path: string, spec: PartSpec): PartSpec {
  if (isObject(spec)) return spec;
  if (isLeaf(spec)) return sharedLeaf(path, spec as PartLeaf);
  if (typeof spec !== "object" || spec === null) throw mustBe(TypeError, `spec.${path}`, "a leaf, an object or an array", spec);
  const entries = Object.keys(spec).map((name) => [name, sharedIn(`${path}.${name}`, partOf(spec, name))] as const);
  return Array.isArray(spec) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
}

function sharedLeaf(path: string, leaf: PartLeaf): PartSpec {
  const { dtype, shape, nest = 0, shared } = leaf;
  const bytes = shared === undefined && Object.hasOwn(ARRAYS, dtype) ? sizeOf(shape) * ARRAYS[dtype].BYTES_PER_ELEMENT : 0;
  if (!(bytes >= SHARED_BYTES)) return leaf;
  const [frames = 0, ...frame] = shape;
  // An array of frames; plain numbers in arrays are one value.
  const stacked = nest > 0 && nest < shape.length && frames <= MOST_FRAMES && bytes / frames >= SHARED_BYTES;
  return stacked ? { ...leaf, shape: frame, shared: path, stack: frames } : { ...leaf, shared: path };
}
