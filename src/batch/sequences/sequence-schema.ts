/** What a view of sequences shows: which leaves, of which steps, under which names. */
import { mustBeOneOf } from "../../base/error.ts";
import type { Engine } from "../../memory/engine.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { otherParts, type Part, partInRole, reservedName } from "../transitions/transition-schema.ts";

export interface SequenceSchema {
  /** Those of every step; of those of the state only the first step is shown. */
  readonly parts: readonly Part[];
  readonly state: readonly Part[];
  readonly reward: PlacedLeaf;
  readonly discount: PlacedLeaf | undefined;
  readonly terminated: PlacedLeaf | undefined;
}

const CALLER = "sequences()";
/** Columns of a batch that are no leaves. */
export const NUMBERS = ["returns", "discounts", "bootstraps", "mask", "learningMask", "isFirst", "isLast", "isTerminal"] as const;
const OWN = ["count", "observation", "action", "reward", ...NUMBERS, "weights", "keys", "toArray", "detached", "release"];

/**
 * @param state names of the batch's parts of which only the first step is shown
 * @throws ReplayError NOT_FOUND for a role without a leaf, or a name in `state` that there is not · SPEC_MISMATCH for a leaf that has the name of a column of the view
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
  for (const name of state) if (!names.includes(name)) throw mustBeOneOf("NOT_FOUND", "each of state", names, name);
  for (const name of names) if (OWN.includes(name)) throw reservedName(name, CALLER);
  return {
    parts: [...roleParts, ...others.filter(({ name }) => !state.includes(name))],
    state: others.filter(({ name }) => state.includes(name)),
    reward,
    discount: roles.optional("discount"),
    terminated: roles.optional("terminated"),
  };
}
