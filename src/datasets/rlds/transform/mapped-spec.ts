/** The spec of what a function has made of a step. */
import { map, valueAt } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { handedOn, knownIn } from "../../model/handed-on.ts";
import { stepSpecOf } from "../../model/step-spec.ts";

/**
 * What it hands on keeps its leaf. Whatever it made itself has the dtype that its value tells; a number in the place of an f64 is f64. Undefined where that does not tell: a number
 * stands in the place of an integer, and may be one or not.
 */
export function mappedSpec(spec: StepSpec, step: unknown, made: unknown): StepSpec | undefined {
  const known = knownIn(spec, step);
  try {
    return map(stepSpecOf(made), (leaf, keys) => handedOn(known, keys, valueAt(made, keys)) ?? told(leaf, valueAt(spec, keys), keys));
  } catch {
    return undefined;
  }
}

/** @throws where it cannot be told */
function told(leaf: StepLeaf, at: unknown, keys: readonly string[]): StepLeaf {
  const was = at as Partial<StepLeaf> | undefined;
  if (leaf.shape.length > 0 || leaf.dtype === "string" || was?.shape?.length !== 0 || was.dtype === leaf.dtype) return leaf;
  if (was.dtype === "f64" && leaf.dtype === "f32") return was as StepLeaf;
  throw new RangeError(`${keys.join("/")} was ${was.dtype}: a number does not tell whether it still is`);
}
