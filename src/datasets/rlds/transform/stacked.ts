/** Stacks steps into columns whose first dimension is time. */

import { put } from "../../../schema/copy-values.ts";
import type { NumberArray } from "../../../schema/dtype.ts";
import { blank } from "../../../schema/leaf.ts";
import { packer, valueAt } from "../../../schema/nest.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import type { StepColumn } from "../../model/step-columns.ts";
import { DATA } from "../../model/step-spec.ts";

/** Returns a function that stacks steps into columns, nested like the spec. It copies the values. O(elements) */
export function stacker(spec: StepSpec): (steps: readonly unknown[]) => unknown {
  const leaves = leavesOf(spec);
  const pack = packer(spec);
  return (steps) => pack(leaves.map((leaf) => column(leaf, steps)));
}

function column({ leaf, size, keys }: LeafEntry, steps: readonly unknown[]): StepColumn {
  const { dtype, shape } = leaf;
  const data = blank(leaf, size * steps.length);
  steps.forEach((step, i) => {
    put({ dtype, shape, size }, data as unknown as NumberArray, i * size, valueAt(step, keys), DATA);
  });
  return { data, shape: [steps.length, ...shape] };
}
