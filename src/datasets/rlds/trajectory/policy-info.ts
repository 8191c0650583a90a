/** What a policy knew at each step: made of the step and the next one. */
import { isLeaf, isText, type RowLeaf, zeroOf } from "../../../schema/leaf.ts";
import { map, valueAt } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { handedOn, type Known, knownIn } from "../../model/handed-on.ts";
import { type Place, RldsError } from "../../model/rlds-error.ts";
import { stepSpecOf } from "../../model/step-spec.ts";

/** Of the step after the very last one every field is zeros, and `is_first` is true. */
export type PolicyInfoFn<S = RldsStep, P = unknown> = (step: S, next: S) => P;

/** A step of zeros that begins an episode: what follows the last step of all. */
export function zeroStep(spec: StepSpec): RldsStep {
  return { ...(map(spec, zeroOf) as unknown as RldsStep), is_first: true };
}

/** What a function has made of a step and the next one, and which numbers of these it has read. */
export interface FirstInfo {
  readonly value: unknown;
  readonly known: readonly Known[];
}

/** Calls the function once, with both steps, and looks which leaves it reads. @throws what it throws · RldsError SPEC_MISMATCH where it gives nothing */
export function firstInfo(policyInfoFn: PolicyInfoFn, stepSpec: StepSpec, step: RldsStep, next: RldsStep, place?: Place): FirstInfo {
  const reading = new Reading();
  const given = mustBeInfo(policyInfoFn(reading.watched(step, stepSpec) as RldsStep, reading.watched(next, stepSpec) as RldsStep), place);
  const arrays = knownIn(stepSpec, step, next).filter(({ value }) => typeof value === "object");
  return { value: reading.bare(given), known: [...arrays, ...reading.read] };
}

/**
 * Its spec: the leaf of what it handed on, and of all else what the values tell (numbers are f32; `{data, shape: []}` says another).
 * @throws RldsError UNSUPPORTED for text without a limit
 */
export function policyInfoSpec({ value, known }: FirstInfo, maxTextBytes: number | undefined): Spec {
  if (Array.isArray(value) && value.length === 0) return [];
  const told = map(stepSpecOf(value), (leaf, keys) => {
    const one = valueAt(value, keys);
    const alike = known.filter((other) => Object.is(other.value, one));
    // A number that several leaves have is that of its own name.
    return handedOn(known, keys, one) ?? (new Set(alike.map(({ leaf: other }) => other.dtype)).size === 1 ? alike[0]?.leaf : undefined) ?? leaf;
  });
  return replayable(told, "policyInfo", maxTextBytes);
}

/** Steps that note which of their numbers and texts are read. */
class Reading {
  readonly read: Known[] = [];
  readonly #bare = new WeakMap<object, unknown>();

  watched(node: unknown, spec: StepSpec, keys: readonly string[] = []): unknown {
    if (typeof node !== "object" || node === null || isLeaf(spec)) return node;
    const parts = spec as { readonly [name: string]: StepSpec };
    const watched = new Proxy(node, {
      get: (of, name) => {
        const value: unknown = Reflect.get(of, name, of);
        if (typeof name !== "string" || !Object.hasOwn(parts, name)) return value;
        const [part, path] = [parts[name] as StepSpec, [...keys, name]];
        if (isLeaf(part)) this.read.push({ keys: path, leaf: part, value });
        return this.watched(value, part, path);
      },
    });
    this.#bare.set(watched, node);
    return watched;
  }

  /** What was given back, without those. */
  bare(value: unknown): unknown {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    if (this.#bare.has(value)) return this.#bare.get(value);
    if (Array.isArray(value)) return value.map((part) => this.bare(part));
    return Object.getPrototypeOf(value) === Object.prototype ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.bare(part)])) : value;
  }
}

/** @throws RldsError SPEC_MISMATCH */
export function mustBeInfo(value: unknown, place?: Place): unknown {
  if (value === undefined || value === null || missing(value))
    throw new RldsError("SPEC_MISMATCH", "policyInfoFn must return a value or nested values without undefined: is the name of a field misspelt?", place);
  if (typeof (value as Partial<PromiseLike<unknown>>).then === "function")
    throw new RldsError("SPEC_MISMATCH", "policyInfoFn must not be async, got a promise", place);
  return value;
}

function missing(value: unknown): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value === undefined || value === null;
  return Object.values(value).some(missing);
}

/**
 * A spec that a Replay can hold.
 * @param maxTextBytes of text whose leaf does not say it
 * @throws RldsError UNSUPPORTED for bytes, and for text without a limit
 */
export function replayable(spec: StepSpec, field: string, maxTextBytes: number | undefined): Spec {
  return map(spec, (leaf, keys): RowLeaf => {
    if (!isText(leaf)) return leaf;
    const { dtype, shape, maxBytes = maxTextBytes } = leaf;
    const named = [field, ...keys].join("/");
    if (dtype === "bytes")
      throw new RldsError("UNSUPPORTED", `${named} is bytes, which a Replay cannot hold: leave it out, or make numbers of it, with mapSteps`);
    if (maxBytes === undefined) throw new RldsError("UNSUPPORTED", `${named} is text: set maxTextBytes, the limit of a string, or leave it out with mapSteps`);
    return { ...leaf, dtype, shape, maxBytes };
  });
}
