/** Compares shapes, and describes shapes that do not match. */
import type { RldsError } from "../../model/rlds-error.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import type { StoredLeaf } from "./stored-leaf.ts";

/** Returns a shape as text, such as `[3, ?]`. */
export function describeShape(shape: Dimensions): string {
  return `[${shape.map((length) => length ?? "?").join(", ")}]`;
}

/** Returns whether a shape matches the known lengths of the expected shape. */
export function matchesShape(expected: Dimensions, shape: Dimensions): boolean {
  return expected.length === shape.length && expected.every((length, d) => length === null || shape[d] === null || length === shape[d]);
}

/**
 * Returns the error for a shape that does not match. If the features leave a length open, the first value determines it. A different length is then not damage,
 * but values of different lengths cannot form a column.
 */
export function shapeError(example: Example, leaf: StoredLeaf, expected: Dimensions, shape: Dimensions, at?: number, step?: number): RldsError {
  const { key, feature, lengths } = leaf;
  if (![...lengths, ...feature.shape].includes(null))
    return example.corruptError(`feature ${key} must have the shape ${describeShape(expected)}, got ${describeShape(shape)}`, at, { step });
  const remedy = feature.kind === "image" ? '. Read them with images: "bytes"' : "";
  return example.unsupported(`feature ${key} has values of different shapes, such as ${describeShape(expected)} and ${describeShape(shape)}${remedy}`, step);
}

/** Returns the step to which a value belongs, if there is one value per step. */
export function stepOf({ inSteps, lengths }: StoredLeaf, i: number): number | undefined {
  return inSteps && lengths.length === 0 ? i : undefined;
}
