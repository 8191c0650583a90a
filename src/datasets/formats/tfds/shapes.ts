/** What is said of shapes that do not fit. */
import type { RldsError } from "../../model/rlds-error.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import type { StoredLeaf } from "./stored-leaf.ts";

/** `[3, ?]` */
export function describeShape(shape: Dimensions): string {
  return `[${shape.map((length) => length ?? "?").join(", ")}]`;
}

/** Whether a shape is what is known of it. */
export function matchesShape(expected: Dimensions, shape: Dimensions): boolean {
  return expected.length === shape.length && expected.every((length, d) => length === null || shape[d] === null || length === shape[d]);
}

/** Where the features leave a length open it is the first value's; another is no damage, but has no place in a column. */
export function shapeError(example: Example, leaf: StoredLeaf, expected: Dimensions, shape: Dimensions, at?: number, step?: number): RldsError {
  const { key, feature, lengths } = leaf;
  if (![...lengths, ...feature.shape].includes(null))
    return example.corruptError(`feature ${key} must have the shape ${describeShape(expected)}, got ${describeShape(shape)}`, at, { step });
  const remedy = feature.kind === "image" ? ': read them with images: "bytes"' : "";
  return example.unsupported(`feature ${key} has values of several shapes, ${describeShape(expected)} and ${describeShape(shape)}${remedy}`, step);
}

/** The step that a value belongs to, where each step has one. */
export function stepOf({ inSteps, lengths }: StoredLeaf, i: number): number | undefined {
  return inSteps && lengths.length === 0 ? i : undefined;
}
