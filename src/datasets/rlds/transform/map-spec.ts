/** Infers the spec of a step that a function returned. */
import { isFloat } from "../../../schema/dtype.ts";
import { map, valueAt } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { findTracedLeaf, traceLeaves } from "../../model/leaf-tracing.ts";
import { stepSpecOf } from "../../model/step-spec.ts";

/**
 * Infers the spec of a function's result. Leaves that the function passed on keep their spec. The dtype of a new value is inferred from the value, but a number
 * that replaces an f64 is f64. Returns undefined if the spec cannot be inferred. For example, if a number replaces an integer, its dtype is unknown.
 */
export function mapSpec(spec: StepSpec, step: unknown, result: unknown): StepSpec | undefined {
  const tracedLeaves = traceLeaves(spec, step);
  try {
    return map(stepSpecOf(result), (leaf, keys) => findTracedLeaf(tracedLeaves, keys, valueAt(result, keys)) ?? resolveLeaf(leaf, valueAt(spec, keys), keys));
  } catch {
    return undefined;
  }
}

/** Returns the leaf of a new value, which replaces the node `at` of the old spec. @throws RangeError if its dtype cannot be inferred */
function resolveLeaf(leaf: StepLeaf, at: unknown, keys: readonly string[]): StepLeaf {
  const sourceLeaf = at as Partial<StepLeaf> | undefined;
  if (leaf.shape.length > 0 || leaf.dtype === "string" || sourceLeaf?.shape?.length !== 0 || sourceLeaf.dtype === leaf.dtype) return leaf;
  if (isFloat(sourceLeaf.dtype) && leaf.dtype === "f32") return sourceLeaf as StepLeaf;
  throw new RangeError(`the dtype of ${keys.join("/")} cannot be inferred, because a plain number replaces a value of dtype ${sourceLeaf.dtype}`);
}
