/** Maps a Replay's spec to the spec of a step. */

import type { PlacedLeaf } from "../../../schema/layout.ts";
import { isText } from "../../../schema/leaf.ts";
import { setPart } from "../../../schema/nest.ts";
import type { Roles, TransitionRole } from "../../../schema/transition-roles.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";

export interface StoredSchema {
  readonly stepSpec: StepSpec;
  /** The leaf for each path of the step's spec. Paths are joined with dots, which names do not contain. The values of missing paths are computed. */
  readonly leaves: ReadonlyMap<string, PlacedLeaf>;
  /** The leaf with the role `terminated`, if there is one. `terminated`, `discount` and `stepType` determine how episodes begin and end. */
  readonly terminated?: PlacedLeaf | undefined;
  readonly discount?: PlacedLeaf | undefined;
  readonly stepType?: PlacedLeaf | undefined;
}

const FLOAT: StepLeaf = { dtype: "f32", shape: [] };
const BOOL: StepLeaf = { dtype: "bool", shape: [] };
const NAMES = ["observation", "action", "reward", "discount"] as const;
const FLAGS = ["is_first", "is_last", "is_terminal"] as const;

export function createStoredSchema(all: readonly PlacedLeaf[], roles: Roles): StoredSchema {
  const paths = new Map<PlacedLeaf, readonly string[]>();
  for (const role of NAMES) for (const leaf of roles.leaves(role)) paths.set(leaf, [role, ...below(leaf, roles.path(role))]);
  const hasObservation = NAMES.some((role) => role === "observation" && roles.leaves(role).length > 0);
  const terminated = roles.optional("terminated");
  const stepType = all.find(({ keys, leaf, size }) => keys.join() === "stepType" && size === 1 && leaf.dtype === "i32");
  for (const leaf of all) {
    if (paths.has(leaf)) continue;
    const [top = "", ...rest] = leaf.keys;
    const isFlag = FLAGS.some((flag) => flag === top) && rest.length === 0 && leaf.leaf.dtype === "bool" && leaf.size === 1;
    if (isFlag) paths.set(leaf, [top]);
    // If no leaf is the observation, leaves without a role are parts of the observation.
    else if (!hasObservation && leaf !== terminated) paths.set(leaf, ["observation", ...leaf.keys]);
    else paths.set(leaf, [isReserved(top) ? `${top}_` : top, ...rest]);
  }
  const spec: { [name: string]: unknown } = { reward: FLOAT, discount: FLOAT, is_first: BOOL, is_last: BOOL, is_terminal: BOOL };
  for (const role of ["reward", "discount"] as const) if (roles.leaves(role).length > 0) delete spec[role];
  for (const [leaf, keys] of paths) set(spec, keys, stepLeaf(leaf));
  return {
    stepSpec: spec as StepSpec,
    leaves: new Map([...paths].map(([leaf, keys]) => [keys.join("."), leaf])),
    terminated,
    discount: roles.leaves("discount").length === 1 ? optionalNumber(roles, "discount") : undefined,
    stepType,
  };
}

function optionalNumber(roles: Roles, role: TransitionRole): PlacedLeaf | undefined {
  const [leaf] = roles.leaves(role);
  return leaf?.size === 1 && !isText(leaf.leaf) ? leaf : undefined;
}

/** Returns the remaining names of a leaf below a dotted path. */
function below({ keys }: PlacedLeaf, path: string): readonly string[] {
  for (let n = 0; n <= keys.length; n++) if (keys.slice(0, n).join(".") === path) return keys.slice(n);
  return [];
}

function isReserved(name: string): boolean {
  return [...NAMES, ...FLAGS].some((reserved) => reserved === name);
}

function stepLeaf({ leaf: { dtype }, shape }: PlacedLeaf): StepLeaf {
  return { dtype, shape: [...shape] } as StepLeaf;
}

function set(spec: { [name: string]: unknown }, keys: readonly string[], leaf: StepLeaf): void {
  const node = keys.slice(0, -1).reduce<{ [name: string]: unknown }>((at, key) => {
    if (!Object.hasOwn(at, key)) setPart(at, key, {});
    return at[key] as { [name: string]: unknown };
  }, spec);
  setPart(node, keys.at(-1) as string, leaf);
}
