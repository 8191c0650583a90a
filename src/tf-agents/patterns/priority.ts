/** Defines the priorities of a config's items, which are constant or computed from the values of a field. */
import { described, finite, mustBe } from "../../base/error.ts";
import { isDtype } from "../../schema/dtype.ts";
import { leafText } from "../../schema/leaf.ts";
import { pathText } from "../../schema/nest.ts";
import type { FoundLeaf, Spec } from "../../schema/spec.ts";
import { createReferenceStep, ReferenceField, type ReferenceStep } from "./pattern.ts";

/** The rule that computes the priority of an item, created by `constantPriorityFn` and `tdError`. */
export class PriorityFn {
  /** The constant priority, or the weight of the largest value relative to the mean. */
  readonly value: number;
  /** The field of the errors. Undefined for a constant priority. */
  readonly leaf: FoundLeaf | undefined;

  constructor(value: number, leaf?: FoundLeaf) {
    this.value = value;
    this.leaf = leaf;
    Object.freeze(this);
  }
}

/** Returns a constant priority. @throws TypeError, RangeError if the priority is not a finite number >= 0 */
export function constantPriorityFn(value: number): PriorityFn {
  return new PriorityFn(finite("the priority", value, 0));
}

/**
 * Returns the priority of R2D2: `weight` × the largest absolute value of a field + (1 - weight) × the mean of its absolute values, over the steps of that field
 * in the item. If several columns have the field, the last of these columns counts. If no column has the field, the priority is 0. See
 * https://openreview.net/pdf?id=r1lyTjAqYX.
 * @param weight a number >= 0, usually in 0 … 1
 * @param field returns the field of a step
 * @throws TypeError, RangeError if the field is not one number
 */
export function tdError<const S extends Spec>(weight: number, spec: S, field: (step: ReferenceStep<S>) => ReferenceField): PriorityFn {
  finite("the weight of tdError", weight, 0);
  if (typeof field !== "function") throw mustBe(TypeError, "field of tdError", "a function of a step that returns one of its fields", field);
  const reference: unknown = field(createReferenceStep(spec));
  if (!(reference instanceof ReferenceField)) throw mustBe(TypeError, "the result of the field function of tdError", "a field of its step", reference);
  const { leaf } = reference;
  if (!isDtype(leaf.leaf.dtype) || leaf.leaf.dtype === "bool" || leaf.size !== 1)
    throw mustBe(RangeError, `the field ${pathText(leaf.keys)} of tdError`, "a single number", described(leafText(leaf.leaf.dtype, leaf.shape)));
  return new PriorityFn(weight, leaf);
}
