/** In what two things are not of the same form. */
import type { StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";

/** What differs, as text; undefined where nothing does. */
export function specDifference(expected: StepSpec, found: StepSpec): string | undefined {
  const [wanted, given] = [expected, found].map((spec) => new Map(leavesOf(spec).map(({ keys, path, leaf }) => [JSON.stringify(keys), { path, leaf }])));
  for (const [key, { path, leaf }] of wanted as NonNullable<typeof wanted>) {
    const other = given?.get(key)?.leaf;
    if (other === undefined) return `${path} is missing`;
    if (told(other) !== told(leaf)) return `${path} is ${told(other)}, not ${told(leaf)}`;
  }
  for (const [key, { path }] of given as NonNullable<typeof given>) if (!wanted?.has(key)) return `it has ${path} as well`;
  return undefined;
}

function told({ dtype, shape }: { readonly dtype: string; readonly shape: readonly number[] }): string {
  return shape.length === 0 ? dtype : `${dtype} [${shape.join(", ")}]`;
}
