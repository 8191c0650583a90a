/** Maps the named tuples of TF-Agents to objects. Defines their names, and the names of their fields in JavaScript and Python. */
import { isLeaf } from "../../../schema/leaf.ts";
import type { Spec } from "../../../schema/spec.ts";

export interface NamedTuple {
  readonly name: string;
  /** The names of the fields in JavaScript and in Python, in the order of TF-Agents. */
  readonly fields: ReadonlyMap<string, string>;
  /** For some fields, the named tuple that the field's value represents if the value has the fields of that tuple. */
  readonly parts?: { readonly [field: string]: NamedTuple };
}

/** The named tuples that an object in a spec may represent. */
export type Candidates = readonly NamedTuple[];

const TRAJECTORY: NamedTuple = {
  name: "Trajectory",
  fields: new Map([
    ["stepType", "step_type"],
    ["observation", "observation"],
    ["action", "action"],
    ["policyInfo", "policy_info"],
    ["nextStepType", "next_step_type"],
    ["reward", "reward"],
    ["discount", "discount"],
  ]),
};
const TIME_STEP: NamedTuple = {
  name: "TimeStep",
  fields: new Map([
    ["stepType", "step_type"],
    ["reward", "reward"],
    ["discount", "discount"],
    ["observation", "observation"],
  ]),
};
const POLICY_STEP: NamedTuple = {
  name: "PolicyStep",
  fields: new Map([
    ["action", "action"],
    ["state", "state"],
    ["info", "info"],
  ]),
};
const TRANSITION: NamedTuple = {
  name: "Transition",
  fields: new Map([
    ["timeStep", "time_step"],
    ["actionStep", "action_step"],
    ["nextTimeStep", "next_time_step"],
  ]),
  parts: { timeStep: TIME_STEP, actionStep: POLICY_STEP, nextTimeStep: TIME_STEP },
};

/**
 * The candidates for a whole spec. Below the root, only the parts of these tuples are named tuples. Other objects with the same field names belong to the user.
 */
export const WHOLE: Candidates = [TRAJECTORY, TRANSITION, TIME_STEP, POLICY_STEP];
const NOTHING: Candidates = [];

/** The JavaScript names of a trajectory's fields, in the order of TF-Agents. */
export const TRAJECTORY_FIELDS: readonly string[] = [...TRAJECTORY.fields.keys()];

/** Returns the named tuple whose fields an object has. */
export function namedTupleOf(spec: Spec, candidates: Candidates = WHOLE): NamedTuple | undefined {
  if (candidates.length === 0 || typeof spec !== "object" || spec === null || isLeaf(spec) || Array.isArray(spec)) return undefined;
  const names = Object.keys(spec);
  return candidates.find(({ fields }) => names.length === fields.size && names.every((name) => fields.has(name)));
}

/** Returns the named tuple whose type and fields have these Python names. */
export function namedTupleCalled(name: string, fields: readonly string[], candidates: Candidates): NamedTuple | undefined {
  const tuple = candidates.find((each) => each.name === name && each.fields.size === fields.length);
  return tuple !== undefined && [...tuple.fields.values()].every((field) => fields.includes(field)) ? tuple : undefined;
}

/** Returns the candidates for the value of a field. */
export function candidatesIn(tuple: NamedTuple | undefined, field: string): Candidates {
  const part = tuple?.parts?.[field];
  return part === undefined ? NOTHING : [part];
}

/** Returns whether a spec describes trajectories. */
export function isTrajectorySpec(spec: Spec): boolean {
  return namedTupleOf(spec) === TRAJECTORY;
}

/**
 * Returns a function that converts the path of a leaf to its path in Python. Each object is inspected only once, so the function may be called for every leaf
 * of a spec.
 */
export function pythonPaths(spec: Spec): (keys: readonly string[]) => readonly string[] {
  const tuples = new Map<string, NamedTuple | undefined>();
  return (keys) => {
    let node = spec;
    let candidates = WHOLE;
    let place = "";
    return keys.map((key) => {
      if (candidates.length === 0) return key;
      if (!tuples.has(place)) tuples.set(place, namedTupleOf(node, candidates));
      const tuple = tuples.get(place);
      candidates = candidatesIn(tuple, key);
      node = (node as { readonly [name: string]: Spec })[key] as Spec;
      place += `${key}\0`;
      return tuple?.fields.get(key) ?? key;
    });
  };
}
