/** A spec as a table of its leaves. */
import type { StepSpec } from "../rlds/index.ts";
import { shapeText, table } from "./text.ts";

export interface NamedLeaf {
  /** `observation/image`, as RLDS tools write it. */
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

export function leavesIn(spec: StepSpec, path = ""): NamedLeaf[] {
  const { dtype, shape } = spec as { readonly dtype?: unknown; readonly shape?: readonly number[] };
  if (typeof dtype === "string" && Array.isArray(shape)) return [{ path, dtype, shape }];
  return Object.entries(spec).flatMap(([name, node]) => leavesIn(node as StepSpec, path === "" ? name : `${path}/${name}`));
}

export function specText(spec: StepSpec): string {
  const rows = leavesIn(spec).map(({ path, dtype, shape }) => [path, dtype, shapeText(shape)]);
  return table([["leaf", "dtype", "shape"], ...rows.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1))]);
}
