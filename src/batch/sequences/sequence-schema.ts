/** Defines the schema of a sequence view: the leaves, the steps and the names of its batches. */
import { mustBeOneOf } from "../../base/error.ts";
import type { Engine } from "../../memory/engine.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { otherParts, type Part, partInRole, reservedName } from "../transitions/transition-schema.ts";

export interface SequenceSchema {
  /** Parts that show every step; parts of the state show only the first step. */
  readonly parts: readonly Part[];
  readonly state: readonly Part[];
  readonly reward: PlacedLeaf;
  readonly discount: PlacedLeaf | undefined;
  readonly terminated: PlacedLeaf | undefined;
}

const CALLER = "sequences()";
/** The columns of a batch that are not leaves. */
export const NUMBERS = ["returns", "discounts", "bootstraps", "mask", "learningMask", "isFirst", "isLast", "isTerminal"] as const;
const OWN = ["count", "observation", "action", "reward", ...NUMBERS, "weights", "keys", "toArray", "detached", "release"];

/**
 * Returns the schema of a sequence view.
 * @param state names of the batch's parts that show only the first step
 * @throws ReplayError NOT_FOUND if a role has no leaf, or `state` has an unknown name · SPEC_MISMATCH if a leaf has the name of a column of the view
 */
export function sequenceSchema(engine: Engine, state: readonly string[]): SequenceSchema {
  const { roles } = engine;
  const reward = roles.rewards(CALLER);
  const roleParts = (["observation", "action", "reward"] as const).map((role) => partInRole(engine, role, CALLER));
  const others = otherParts(
    engine,
    roleParts.flatMap(({ leaves }) => leaves.map(({ leaf }) => leaf)),
  );
  const names = others.map(({ name }) => name);
  for (const name of state) if (!names.includes(name)) throw mustBeOneOf("NOT_FOUND", "each name in state", names, name);
  for (const name of names) if (OWN.includes(name)) throw reservedName(name, CALLER);
  return {
    parts: [...roleParts, ...others.filter(({ name }) => !state.includes(name))],
    state: others.filter(({ name }) => state.includes(name)),
    reward,
    discount: roles.optional("discount"),
    terminated: roles.optional("terminated"),
  };
}
