/** The spec of what a function makes of steps, without a step. */
import { map, valueAt } from "../../spec/nest.ts";
import type { StepLeaf, StepSpec } from "../dataset/dataset.ts";
import { type FoundLeaf, leavesOf } from "../dataset/leaves.ts";
import { stepSpecOf } from "../dataset/step-spec.ts";
import { zeroStep } from "../trajectory/policy-info.ts";

/**
 * Calls the function with a step of zeros, and with the spec in a step's place to see what it only hands on. Whatever it makes itself has the dtype that its value tells; a
 * number in the place of an f64 is f64. Undefined where that does not tell: the function raises, or a number stands in the place of an integer and may be one or not.
 */
export function mappedSpec(spec: StepSpec, change: (step: never) => unknown): StepSpec | undefined {
  // Nested, so that its is_first is zero too.
  const zero = zeroStep({ step: spec }).step;
  const leaves = leavesOf(spec);
  try {
    const made = change(zero as never);
    const known = { made, taken: traced(change, spec), leaves, byArray: byArray(zero, leaves), known: new Set(leaves.map(({ leaf }) => leaf)) };
    return map(stepSpecOf(made), (leaf, keys) => told(leaf, known, keys));
  } catch {
    return undefined;
  }
}

interface Known {
  readonly made: unknown;
  readonly taken: unknown;
  readonly leaves: readonly FoundLeaf[];
  /** Leaves by the array of zeros that stands for them. */
  readonly byArray: ReadonlyMap<unknown, StepLeaf>;
  readonly known: ReadonlySet<unknown>;
}

function byArray(zero: unknown, leaves: readonly FoundLeaf[]): Map<unknown, StepLeaf> {
  return new Map(leaves.filter(({ leaf }) => leaf.shape.length > 0).map(({ keys, leaf }) => [valueAt(zero, keys), leaf]));
}

/** What the function gives for the spec itself: leaves, where it only picks fields. */
function traced(change: (step: never) => unknown, spec: StepSpec): unknown {
  try {
    return change(spec as never);
  } catch {
    return undefined;
  }
}

/** @throws where it cannot be told */
function told(spec: StepLeaf, known: Known, keys: readonly string[]): StepLeaf {
  const same = known.byArray.get(valueAt(known.made, keys));
  if (same !== undefined) return same;
  const taken = valueAt(known.taken, keys);
  if (known.known.has(taken)) return taken as StepLeaf;
  if (spec.shape.length > 0 || spec.dtype === "string") return spec;
  const path = keys.join("/");
  const was = known.leaves.find((leaf) => leaf.path === path && leaf.leaf.shape.length === 0)?.leaf;
  if (was === undefined || was.dtype === spec.dtype) return spec;
  if (was.dtype === "f64" && spec.dtype === "f32") return was;
  throw new RangeError(`${path} was ${was.dtype}: a number does not tell whether it still is`);
}
