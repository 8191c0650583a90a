/** What is said of shapes that do not fit. */
import type { RldsError } from "../../model/rlds-error.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import type { StoredLeaf } from "./stored-leaf.ts";

/** `[3, ?]` */
export function shown(shape: Dimensions): string {
  return `[${shape.map((length) => length ?? "?").join(", ")}]`;
}

/** Whether a shape is what is known of it. */
export function fits(known: Dimensions, shape: Dimensions): boolean {
  return known.length === shape.length && known.every((length, d) => length === null || shape[d] === null || length === shape[d]);
}

/** Where the features leave a length open it is the first value's; another is no damage, but has no place in a column. */
export function misfit(example: Example, leaf: StoredLeaf, known: Dimensions, shape: Dimensions, at?: number, step?: number): RldsError {
  const { key, feature, lengths } = leaf;
  if (![...lengths, ...feature.shape].includes(null))
    return example.wrong(`feature ${key} must have the shape ${shown(known)}, got ${shown(shape)}`, at, { step });
  const remedy = feature.kind === "image" ? ': read them with images: "bytes"' : "";
  return example.unsupported(`feature ${key} has values of several shapes, ${shown(known)} and ${shown(shape)}${remedy}`, step);
}

/** The step that a value belongs to, where each step has one. */
export function stepOf({ inSteps, lengths }: StoredLeaf, i: number): number | undefined {
  return inSteps && lengths.length === 0 ? i : undefined;
}
