/** Defines the schema of a transition view: the leaves, their names, and whether a batch shows each leaf at the first step or at the bootstrap step. */
import { BOOTSTRAP } from "../../base/abi.ts";
import { mustBe, mustBeOneOf, ReplayError, show } from "../../base/error.ts";
import type { Engine } from "../../memory/engine.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { isLeaf, type RowLeaf } from "../../schema/leaf.ts";
import { leaves, type Nest, valueAt } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";

/** A leaf or a subtree of the batch. */
export interface Part {
  readonly name: string;
  readonly spec: Spec;
  /** The leaves of the subtree in order, each with its path within the subtree. */
  readonly leaves: readonly { readonly keys: readonly string[]; readonly leaf: PlacedLeaf }[];
  /** The steps that the part shows: the first step, or the step at which the return bootstraps. */
  readonly at: readonly number[];
}

export interface TransitionSchema {
  /** The parts of the first step, then the parts of the bootstrap step. */
  readonly parts: readonly Part[];
  readonly reward: PlacedLeaf;
  readonly discount: PlacedLeaf | undefined;
  readonly terminated: PlacedLeaf | undefined;
}

export const FIRST: readonly number[] = [0];
const LAST: readonly number[] = [BOOTSTRAP];
const OWN = "count, observation, nextObservation, action, returns, discounts, steps, terminated, truncated, weights, keys, toArray, detached, release".split(
  ", ",
);

/**
 * Returns the schema of a transition view.
 * @param next names of the batch's parts that are also shown at the bootstrap step
 * @param goal the leaf that is relabelled
 * @throws ReplayError NOT_FOUND if a role has no leaf, or `next` has an unknown name · SPEC_MISMATCH if a leaf has the name of a column of the view
 */
export function schemaOf(engine: Engine, next: readonly string[], goal?: PlacedLeaf): TransitionSchema {
  const { roles } = engine;
  const reward = roles.rewards("transitions()");
  const [discount, terminated] = [roles.optional("discount"), roles.optional("terminated")];
  const [observation, action] = [partInRole(engine, "observation", "transitions()"), partInRole(engine, "action", "transitions()")];
  const others = otherParts(engine, [...[...observation.leaves, ...action.leaves].map(({ leaf }) => leaf), reward, discount, terminated]);
  const visible = [action, ...others];
  const nexts = [...new Set(next)].map((name) => {
    const part = visible.find((known) => known.name === name);
    if (part === undefined)
      throw mustBeOneOf(
        "NOT_FOUND",
        "each name in next",
        visible.map((known) => known.name),
        name,
      );
    return { ...part, name: nextName(name), at: LAST };
  });
  if (goal !== undefined && ![observation, ...visible].some((part) => part.leaves.some(({ leaf }) => leaf === goal)))
    throw mustBe("SPEC_MISMATCH", "relabel.goal", "a leaf that batches contain, not a reward, discount or terminal flag", goal.path);
  const reserved = [...OWN, ...(goal === undefined ? [] : ["relabelled"]), ...nexts.map(({ name }) => name)];
  for (const { name } of others) {
    if (!reserved.includes(name)) continue;
    const role = roles.path("terminated") === "terminated" ? "" : `, or map it in new Replay({ transition: { ${name}: ${show(name)} } })`;
    throw reservedName(name, "transitions()", name === "terminated" ? role : "");
  }
  return { parts: [observation, ...visible, { ...observation, name: "nextObservation", at: LAST }, ...nexts], reward, discount, terminated };
}

/** Returns the leaf or subtree in a role. @param caller the view, as messages name it @throws ReplayError NOT_FOUND */
export function partInRole(engine: Engine, role: "observation" | "action" | "reward", caller: string): Part {
  engine.roles.required(role, caller);
  const keys = engine.roles.path(role).split(".");
  return partOf(engine, role, valueAt(engine.spec, keys) as Spec, keys);
}

/** Returns the parts of a spec without the leaves in `used`, under their own names. */
export function otherParts(engine: Engine, used: readonly (PlacedLeaf | undefined)[]): Part[] {
  const paths = new Set(used.map((leaf) => leaf?.path));
  return Object.keys(engine.spec).flatMap((name) => {
    const nest = without(valueAt(engine.spec, [name]) as Spec, name, paths);
    return nest === undefined ? [] : [partOf(engine, name, nest, [name])];
  });
}

export function reservedName(name: string, caller: string, remedy = ""): ReplayError {
  return new ReplayError("SPEC_MISMATCH", `the leaf ${show(name)} has the same name as a column of ${caller}. Rename the leaf in spec${remedy}`);
}

function partOf({ layout }: Engine, name: string, nest: Spec, keys: readonly string[]): Part {
  const placed = (path: string) => layout.leaves.find((leaf) => leaf.path === path) as PlacedLeaf;
  return { name, spec: nest, leaves: leaves(nest).map((found) => ({ keys: found.keys, leaf: placed([...keys, ...found.keys].join(".")) })), at: FIRST };
}

/** Returns `nextMask` for `mask`. */
function nextName(name: string): string {
  return `next${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/**
 * Returns a part of the spec without the leaves in `used`; undefined if no leaf remains. A list that lost elements becomes an object with the remaining
 * indices.
 */
function without(nest: Nest<RowLeaf>, path: string, used: ReadonlySet<string | undefined>): Spec | undefined {
  if (isLeaf(nest)) return used.has(path) ? undefined : (nest as RowLeaf);
  const names = Object.keys(nest);
  const parts = names.flatMap((name) => {
    const left = without(valueAt(nest, [name]) as Spec, `${path}.${name}`, used);
    return left === undefined ? [] : [[name, left] as const];
  });
  if (parts.length === 0) return undefined;
  return Array.isArray(nest) && parts.length === names.length ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}
