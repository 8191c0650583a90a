/** Steps without some of their leaves, such as text and videos, which a Replay cannot hold. */
import { mapSteps, type RldsDataset, type StepSpec } from "../rlds/index.ts";
import { UsageError } from "./failure.ts";
import { leavesIn } from "./spec-text.ts";

interface Nested {
  readonly [name: string]: unknown;
}

/** @param paths of leaves, or of objects that contain leaves, such as `observation/images` @throws UsageError if one does not exist */
export function without(data: RldsDataset, stepSpec: StepSpec, paths: readonly string[]): RldsDataset {
  if (paths.length === 0) return data;
  const leaves = leavesIn(stepSpec);
  for (const path of paths)
    if (!leaves.some((leaf) => leaf.path === path || leaf.path.startsWith(`${path}/`)))
      throw new UsageError(
        `--without takes a leaf of the steps (${leaves.map((leaf) => leaf.path).join(", ")}) or an object that contains leaves, got ${path}`,
      );
  const keys = paths.map((path) => path.split("/"));
  const left = (value: unknown) => keys.reduce((rest, way) => omitted(rest, way), value as Nested);
  return mapSteps(data, (step) => left(step) as typeof step, { stepSpec: left(stepSpec) as StepSpec });
}

function omitted(value: Nested, [name, ...below]: readonly string[]): Nested {
  const { [name as string]: part, ...rest } = value;
  return below.length === 0 || part === undefined ? rest : { ...rest, [name as string]: omitted(part as Nested, below) };
}
