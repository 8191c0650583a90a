/** Which priority the items of a config have: always the same, or one of a field's values. */
import { finite, mustBe } from "../../base/error.ts";
import { isDtype } from "../../schema/dtype.ts";
import { leafText } from "../../schema/leaf.ts";
import { pathText } from "../../schema/nest.ts";
import type { FoundLeaf, Spec } from "../../schema/spec.ts";
import { createReferenceStep, ReferenceField, type ReferenceStep } from "./pattern.ts";

/** Made by `constantPriorityFn` and `tdError`. */
export class PriorityFn {
  /** The priority, or how much the largest value counts beside the mean. */
  readonly value: number;
  /** The field of the errors; without one it is always the same. */
  readonly leaf: FoundLeaf | undefined;

  constructor(value: number, leaf?: FoundLeaf) {
    this.value = value;
    this.leaf = leaf;
    Object.freeze(this);
  }
}

/** Always the same priority. @throws TypeError, RangeError unless it is a finite number >= 0 */
export function constantPriorityFn(value: number): PriorityFn {
  return new PriorityFn(finite("the priority", value, 0));
}

/**
 * `weight` × the largest absolute value of a field + (1 - weight) × their mean, over the steps that the item has of that field (in its last column, where there are
 * several); 0 where it is in no column. The priority of R2D2: https://openreview.net/pdf?id=r1lyTjAqYX
 * @param weight a number >= 0, usually in 0 … 1
 * @param field gives the field of a step
 * @throws TypeError, RangeError for a field that is not one number
 */
export function tdError<const S extends Spec>(weight: number, spec: S, field: (step: ReferenceStep<S>) => ReferenceField): PriorityFn {
  finite("the weight of tdError", weight, 0);
  if (typeof field !== "function") throw mustBe(TypeError, "field of tdError", "a function of a step that gives one of its fields", field);
  const reference: unknown = field(createReferenceStep(spec));
  if (!(reference instanceof ReferenceField)) throw mustBe(TypeError, "the result of field, of tdError,", "a field of its step", reference);
  const { leaf } = reference;
  if (!isDtype(leaf.leaf.dtype) || leaf.leaf.dtype === "bool" || leaf.size !== 1)
    throw mustBe(RangeError, `tdError of ${pathText(leaf.keys)}`, "of a field that is one number", leafText(leaf.leaf.dtype, leaf.shape));
  return new PriorityFn(weight, leaf);
}
