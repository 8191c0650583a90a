/** Computes the policyInfo of each step from that step and the next step. */
import { isLeaf, isText, type RowLeaf, zeroOf } from "../../../schema/leaf.ts";
import { map, valueAt } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { findTracedLeaf, type TracedLeaf, traceLeaves } from "../../model/leaf-tracing.ts";
import { type Place, RldsError } from "../../model/rlds-error.ts";
import { stepSpecOf } from "../../model/step-spec.ts";

/** A function that computes the policyInfo of a step. For the last step of the dataset, `next` has `is_first` set and zeros in all other fields. */
export type PolicyInfoFn<S = RldsStep, P = unknown> = (step: S, next: S) => P;

/** Returns the step that is assumed to follow the last step of a dataset. It has `is_first` set and zeros in all other fields. */
export function zeroStep(spec: StepSpec): RldsStep {
  return { ...(map(spec, zeroOf) as unknown as RldsStep), is_first: true };
}

/** The result of the function for the first step, and the leaves of both steps that the function read. */
export interface FirstInfo {
  readonly value: unknown;
  readonly tracedLeaves: readonly TracedLeaf[];
}

/**
 * Calls the function once with both steps, and records the leaves that the function reads. @throws the error of the function · RldsError SPEC_MISMATCH if the
 * function returns undefined or null
 */
export function firstInfo(policyInfoFn: PolicyInfoFn, stepSpec: StepSpec, step: RldsStep, next: RldsStep, place?: Place): FirstInfo {
  const tracker = new ReadTracker();
  const info = mustBeInfo(policyInfoFn(tracker.track(step, stepSpec) as RldsStep, tracker.track(next, stepSpec) as RldsStep), place);
  const arrays = traceLeaves(stepSpec, step, next).filter(({ value }) => typeof value === "object");
  return { value: tracker.unwrap(info), tracedLeaves: [...arrays, ...tracker.read] };
}

/**
 * Returns the spec of the result. Leaves that were passed on unchanged keep their spec. For all other values, the spec is inferred. Numbers become f32, so use
 * `{data, shape: []}` for another dtype.
 * @throws RldsError UNSUPPORTED for text without a limit
 */
export function policyInfoSpec({ value, tracedLeaves }: FirstInfo, maxTextBytes: number | undefined): Spec {
  if (Array.isArray(value) && value.length === 0) return [];
  const infoSpec = map(stepSpecOf(value), (leaf, keys) => {
    const leafValue = valueAt(value, keys);
    const equalLeaves = tracedLeaves.filter((traced) => Object.is(traced.value, leafValue));
    // If several leaves have this number, the leaf with the same name is used.
    return (
      findTracedLeaf(tracedLeaves, keys, leafValue) ??
      (new Set(equalLeaves.map(({ leaf: traced }) => traced.dtype)).size === 1 ? equalLeaves[0]?.leaf : undefined) ??
      leaf
    );
  });
  return replayable(infoSpec, "policyInfo", maxTextBytes);
}

/** Wraps steps, and records the numbers and texts that are read from them. */
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

  /** Returns the result without the wrappers. */
  unwrap(value: unknown): unknown {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    if (this.#originals.has(value)) return this.#originals.get(value);
    if (Array.isArray(value)) return value.map((part) => this.unwrap(part));
    return Object.getPrototypeOf(value) === Object.prototype
      ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.unwrap(part)]))
      : value;
  }
}

/** Returns the result of a policyInfoFn unchanged. @throws RldsError SPEC_MISMATCH if it is a promise, or if it is or contains undefined or null */
export function mustBeInfo(value: unknown, place?: Place): unknown {
  if (value === undefined || value === null || missing(value))
    throw new RldsError(
      "SPEC_MISMATCH",
      "policyInfoFn must return a value or nested values without undefined. Check the names of the fields that it reads",
      place,
    );
  if (typeof (value as Partial<PromiseLike<unknown>>).then === "function")
    throw new RldsError("SPEC_MISMATCH", "policyInfoFn must not be async, got a promise", place);
  return value;
}

function missing(value: unknown): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value === undefined || value === null;
  return Object.values(value).some(missing);
}

/**
 * Returns a spec that a Replay can store.
 * @param maxTextBytes the limit for text leaves that have no limit of their own
 * @throws RldsError UNSUPPORTED for bytes, and for text without a limit
 */
export function replayable(spec: StepSpec, field: string, maxTextBytes: number | undefined): Spec {
  return map(spec, (leaf, keys): RowLeaf => {
    if (!isText(leaf)) return leaf;
    const { dtype, shape, maxBytes = maxTextBytes } = leaf;
    const infoPath = [field, ...keys].join("/");
    if (dtype === "bytes")
      throw new RldsError("UNSUPPORTED", `${infoPath} is bytes, which a Replay cannot store. Use mapSteps to leave it out, or to convert it to numbers`);
    if (maxBytes === undefined) throw new RldsError("UNSUPPORTED", `${infoPath} is text without a byte limit. Set maxTextBytes, or leave it out with mapSteps`);
    return { ...leaf, dtype, shape, maxBytes };
  });
}
