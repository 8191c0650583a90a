/** What a view of transitions shows: which leaves, at which end of a transition, under which names. */
import { BOOTSTRAP } from "../base/abi.ts";
import { mustBe, oneOfRule, ReplayError, show } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { isLeaf, type RowLeaf } from "../schema/leaf.ts";
import { leaves, type Nest, valueAt } from "../schema/nest.ts";
import type { Spec } from "../schema/spec.ts";

/** A leaf or a subtree of the batch. */
export interface Part {
  readonly name: string;
  readonly spec: Spec;
  /** Those of the subtree, in its order, each with its place in it. */
  readonly leaves: readonly { readonly keys: readonly string[]; readonly leaf: PlacedLeaf }[];
  /** The steps that it shows: the first, or the one at which the return bootstraps. */
  readonly at: readonly number[];
}

export interface TransitionSchema {
  /** First those of the first step, then those of the bootstrap. */
  readonly parts: readonly Part[];
  readonly reward: PlacedLeaf;
  readonly discount: PlacedLeaf | undefined;
  readonly terminated: PlacedLeaf | undefined;
}

const FIRST: readonly number[] = [0];
const LAST: readonly number[] = [BOOTSTRAP];
const OWN = "count, observation, nextObservation, action, returns, discounts, steps, terminated, truncated, weights, keys, toArray, detached, release".split(
  ", ",
);

/**
 * @param next names of the batch's parts that are shown at the bootstrap as well
 * @throws ReplayError NOT_FOUND for a role without a leaf, or a name in `next` that there is not · SPEC_MISMATCH for a leaf that has the name of a column of the view
 */
export function schemaOf({ spec, layout, roles }: Engine, next: readonly string[]): TransitionSchema {
  const reward = roles.number("reward", "transitions()");
  const [discount, terminated] = [roles.optional("discount"), roles.optional("terminated")];
  const partOf = (name: string, nest: Spec, keys: readonly string[], at = FIRST): Part => {
    const placed = (path: string) => layout.leaves.find((leaf) => leaf.path === path) as PlacedLeaf;
    return { name, spec: nest, leaves: leaves(nest).map((found) => ({ keys: found.keys, leaf: placed([...keys, ...found.keys].join(".")) })), at };
  };
  const inRole = (role: "observation" | "action"): Part => {
    roles.required(role, "transitions()");
    const keys = roles.path(role).split(".");
    return partOf(role, valueAt(spec, keys) as Spec, keys);
  };
  const [observation, action] = [inRole("observation"), inRole("action")];
  const used = new Set([...[...observation.leaves, ...action.leaves].map(({ leaf }) => leaf), reward, discount, terminated].map((leaf) => leaf?.path));
  const others = Object.keys(spec).flatMap((name) => {
    const nest = without(valueAt(spec, [name]) as Spec, name, used);
    return nest === undefined ? [] : [partOf(name, nest, [name])];
  });
  const visible = [action, ...others];
  const nexts = [...new Set(next)].map((name) => {
    const part = visible.find((known) => known.name === name);
    if (part === undefined) throw mustBe("NOT_FOUND", "each of next", oneOfRule(visible.map((known) => known.name)), name);
    return { ...part, name: nextName(name), at: LAST };
  });
  const reserved = [...OWN, ...nexts.map(({ name }) => name)];
  for (const { name } of others) {
    if (!reserved.includes(name)) continue;
    const role = roles.path("terminated") === "terminated" ? "" : `, or name it in new Replay({ transition: { ${name}: ${show(name)} } })`;
    throw new ReplayError(
      "SPEC_MISMATCH",
      `the leaf ${show(name)} has the name of a column of transitions(): rename it in spec${name === "terminated" ? role : ""}`,
    );
  }
  return { parts: [observation, ...visible, { ...observation, name: "nextObservation", at: LAST }, ...nexts], reward, discount, terminated };
}

/** `nextMask` of `mask`. */
function nextName(name: string): string {
  return `next${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** A part of the spec without these leaves; undefined where none is left. Of a list that lost some an object with the places that are left. */
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
