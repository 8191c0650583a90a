/** Derives the features of TF-Agents records. Each leaf of a spec is a feature, whose key is its path. */
import { mustBe, ReplayError, show } from "../../../base/error.ts";
import type { Dtype } from "../../../schema/dtype.ts";
import { isLeaf, type Leaf, sizeOf } from "../../../schema/leaf.ts";
import { leaves } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import { pythonPaths } from "./named-tuples.ts";

/** TensorFlow's numbers for the data types that TF-Agents can write. */
export const DATA_TYPES: ReadonlyMap<Dtype, number> = new Map<Dtype, number>([
  ["f32", 1],
  ["f64", 2],
  ["i32", 3],
  ["u8", 4],
  ["i16", 5],
  ["i8", 6],
  ["i64", 9],
  ["u16", 17],
  ["f16", 19],
]);

const NAMES = [...DATA_TYPES.keys()].join(", ");
/** The maximum number of elements in a leaf. A larger leaf would not fit into any file. */
const MAX_ELEMENTS = 2 ** 40;

export interface FeatureLeaf {
  readonly keys: readonly string[];
  /** The key of the feature, such as `observation/lidar`. */
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** The number of elements. */
  readonly size: number;
}

/** Returns the name of a part of a spec in messages. */
export function leafSubject(subject: string, keys: readonly string[]): string {
  return keys.length === 0 ? subject : `${subject} of ${keys.join(".")}`;
}

/**
 * Returns the leaves of a spec in the form of TF-Agents. @param subject the name of the spec in messages
 * @throws TypeError if the value is not a spec · ReplayError SPEC_MISMATCH for a dtype or shape that TF-Agents cannot write, or for two leaves with the same
 * name
 */
export function featureLeaves(spec: Spec, subject = "spec"): readonly FeatureLeaf[] {
  const pathOf = pythonPaths(spec);
  const found = leaves<Leaf>(spec as Leaf, (node) => isLeaf(node) || typeof node !== "object" || node === null).map(({ keys, leaf }): FeatureLeaf => {
    const where = leafSubject(subject, keys);
    if (!isLeaf(leaf))
      throw mustBe(
        TypeError,
        where,
        ["a leaf such as f32(4), or an object or array of leaves", typeof leaf === "function" ? "Call the function: f32() instead of f32" : ""],
        leaf,
      );
    const { dtype, shape, stack } = leaf as Leaf;
    if (!DATA_TYPES.has(dtype)) throw new ReplayError("SPEC_MISMATCH", `${where} must have a dtype that TF-Agents can write (${NAMES}), got ${show(dtype)}`);
    const whole = stack === undefined ? shape : [stack, ...shape];
    if (!Array.isArray(whole)) throw new ReplayError("SPEC_MISMATCH", `${where} must have a shape of positive integers, got ${show(whole)}`);
    if (!whole.every((n) => Number.isSafeInteger(n) && n > 0) || sizeOf(whole) > MAX_ELEMENTS)
      throw new ReplayError("SPEC_MISMATCH", `${where} must have a shape of positive integers, got [${whole.map(show).join(", ")}]`);
    return { keys, name: pathOf(keys).join("/"), dtype, shape: [...whole], size: sizeOf(whole) };
  });
  if (found.length === 0) throw mustBe("SPEC_MISMATCH", subject, "a spec with at least one leaf", spec);
  const names = found.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined)
    throw new ReplayError("SPEC_MISMATCH", `${subject} must have a different path for each leaf, but several leaves have the path ${show(twice)}`);
  return found;
}
