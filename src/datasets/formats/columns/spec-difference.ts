/** Describes the difference between two specs. */
import type { StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";

/** Returns the difference as text, or undefined if the specs do not differ. */
export function specDifference(expected: StepSpec, actual: StepSpec): string | undefined {
  const [expectedLeaves, actualLeaves] = [expected, actual].map(
    (spec) => new Map(leavesOf(spec).map(({ keys, path, leaf }) => [JSON.stringify(keys), { path, leaf }])),
  );
  for (const [key, { path, leaf }] of expectedLeaves as NonNullable<typeof expectedLeaves>) {
    const actualLeaf = actualLeaves?.get(key)?.leaf;
    if (actualLeaf === undefined) return `${path || "the value"} is missing`;
    if (describeLeaf(actualLeaf) !== describeLeaf(leaf)) return `${path || "the value"} is ${describeLeaf(actualLeaf)}, not ${describeLeaf(leaf)}`;
  }
  for (const [key, { path }] of actualLeaves as NonNullable<typeof actualLeaves>) if (!expectedLeaves?.has(key)) return `it also has ${path}`;
  return undefined;
}

function describeLeaf({ dtype, shape }: { readonly dtype: string; readonly shape: readonly number[] }): string {
  return shape.length === 0 ? dtype : `${dtype} [${shape.join(", ")}]`;
}
