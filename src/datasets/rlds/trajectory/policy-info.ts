/** What a policy knew at each step: made of the step and the next one. */
import { isLeaf, isText, type RowLeaf, zeroOf } from "../../../schema/leaf.ts";
import { map, valueAt } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { findTracedLeaf, type TracedLeaf, traceLeaves } from "../../model/leaf-tracing.ts";
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
  readonly tracedLeaves: readonly TracedLeaf[];
}

/** Calls the function once, with both steps, and looks which leaves it reads. @throws what it throws · RldsError SPEC_MISMATCH where it gives nothing */
export function firstInfo(policyInfoFn: PolicyInfoFn, stepSpec: StepSpec, step: RldsStep, next: RldsStep, place?: Place): FirstInfo {
  const tracker = new ReadTracker();
  const info = mustBeInfo(policyInfoFn(tracker.track(step, stepSpec) as RldsStep, tracker.track(next, stepSpec) as RldsStep), place);
  const arrays = traceLeaves(stepSpec, step, next).filter(({ value }) => typeof value === "object");
  return { value: tracker.unwrap(info), tracedLeaves: [...arrays, ...tracker.read] };
}

/**
 * Its spec: the leaf of what it handed on, and of all else what the values tell (numbers are f32; `{data, shape: []}` says another).
 * @throws RldsError UNSUPPORTED for text without a limit
 */
export function policyInfoSpec({ value, tracedLeaves }: FirstInfo, maxTextBytes: number | undefined): Spec {
  if (Array.isArray(value) && value.length === 0) return [];
  const infoSpec = map(stepSpecOf(value), (leaf, keys) => {
    const leafValue = valueAt(value, keys);
    const equalLeaves = tracedLeaves.filter((traced) => Object.is(traced.value, leafValue));
    // A number that several leaves have is that of its own name.
    return (
      findTracedLeaf(tracedLeaves, keys, leafValue) ??
      (new Set(equalLeaves.map(({ leaf: traced }) => traced.dtype)).size === 1 ? equalLeaves[0]?.leaf : undefined) ??
      leaf
    );
  });
  return replayable(infoSpec, "policyInfo", maxTextBytes);
}

/** Steps that note which of their numbers and texts are read. */
class ReadTracker {
  readonly read: TracedLeaf[] = [];
  readonly #originals = new WeakMap<object, unknown>();

  track(node: unknown, spec: StepSpec, keys: readonly string[] = []): unknown {
    if (typeof node !== "object" || node === null || isLeaf(spec)) return node;
    const parts = spec as { readonly [name: string]: StepSpec };
    const proxy = new Proxy(node, {
      get: (of, name) => {
        const value: unknown = Reflect.get(of, name, of);
        if (typeof name !== "string" || !Object.hasOwn(parts, name)) return value;
        const [part, path] = [parts[name] as StepSpec, [...keys, name]];
        if (isLeaf(part)) this.read.push({ keys: path, leaf: part, value });
        return this.track(value, part, path);
      },
    });
    this.#originals.set(proxy, node);
    return proxy;
  }

  /** What was given back, without those. */
  unwrap(value: unknown): unknown {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    if (this.#originals.has(value)) return this.#originals.get(value);
    if (Array.isArray(value)) return value.map((part) => this.unwrap(part));
    return Object.getPrototypeOf(value) === Object.prototype
      ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.unwrap(part)]))
      : value;
  }
}

/** @throws RldsError SPEC_MISMATCH */
export function mustBeInfo(value: unknown, place?: Place): unknown {
  if (value === undefined || value === null || missing(value))
    throw new RldsError("SPEC_MISMATCH", "policyInfoFn must return a value or nested values without undefined. Is the name of a field misspelt?", place);
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
    const infoPath = [field, ...keys].join("/");
    if (dtype === "bytes")
      throw new RldsError("UNSUPPORTED", `${infoPath} is bytes, which a Replay cannot hold: leave it out, or make numbers of it, with mapSteps`);
    if (maxBytes === undefined)
      throw new RldsError("UNSUPPORTED", `${infoPath} is text: set maxTextBytes, the limit of a string, or leave it out with mapSteps`);
    return { ...leaf, dtype, shape, maxBytes };
  });
}
