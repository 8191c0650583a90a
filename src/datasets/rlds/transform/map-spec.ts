/** The spec of what a function has made of a step. */
import { isFloat } from "../../../schema/dtype.ts";
import { map, valueAt } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { findTracedLeaf, traceLeaves } from "../../model/leaf-tracing.ts";
import { stepSpecOf } from "../../model/step-spec.ts";

/**
 * What it hands on keeps its leaf. Whatever it made itself has the dtype that its value tells; a number in the place of an f64 is f64. Undefined where that does not tell: a number
 * stands in the place of an integer, and may be one or not.
 */
export function mapSpec(spec: StepSpec, step: unknown, result: unknown): StepSpec | undefined {
  const tracedLeaves = traceLeaves(spec, step);
  try {
    return map(stepSpecOf(result), (leaf, keys) => findTracedLeaf(tracedLeaves, keys, valueAt(result, keys)) ?? resolveLeaf(leaf, valueAt(spec, keys), keys));
  } catch {
    return undefined;
  }
}

/** @throws where it cannot be told */
function resolveLeaf(leaf: StepLeaf, at: unknown, keys: readonly string[]): StepLeaf {
  const sourceLeaf = at as Partial<StepLeaf> | undefined;
  if (leaf.shape.length > 0 || leaf.dtype === "string" || sourceLeaf?.shape?.length !== 0 || sourceLeaf.dtype === leaf.dtype) return leaf;
  if (isFloat(sourceLeaf.dtype) && leaf.dtype === "f32") return sourceLeaf as StepLeaf;
  throw new RangeError(`${keys.join("/")} was ${sourceLeaf.dtype}: a number does not tell whether it still is`);
}
