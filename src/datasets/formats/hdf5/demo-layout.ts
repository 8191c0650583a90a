/** Maps the leaves of a step to their places in a robomimic demonstration (demo). */
import { isLeaf, isText } from "../../../schema/leaf.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeStepSpec } from "../../model/step-fields.ts";
import { leafNames } from "../sinks/free-names.ts";
import type { Losses } from "../sinks/losses.ts";

/** The path of the HDF5 dataset that stores the source's metadata as JSON. */
export const ABOUT = "/about";

/** A leaf of a step, and the HDF5 dataset that stores it in a demo. */
export interface DemoLeaf extends LeafEntry {
  /** The index of the leaf among the leaves of a step. */
  readonly index: number;
  /** The path relative to the demo. If the leaf is an observation, the path relative to `obs` and `next_obs`. */
  readonly path: string;
  readonly isObservation: boolean;
  /** Whether the leaf describes the transition, such as the action, so that it has no meaning in a final observation. */
  readonly isOutcome: boolean;
}

const FLAGS = ["is_first", "is_last", "is_terminal"];
const OUTCOMES = ["action", "reward", "discount"];
/** The names that the layout uses itself, so no leaf may have them. */
const RESERVED = ["obs", "next_obs", "actions", "rewards", "dones", "truncated"];
/** Matches empty names and names of dots, which HDF5 would resolve to another place. */
const BAD_NAME = /^\.*$/;
const BAD_LETTERS = /[/\0]/g;
/**
 * The name of the dataset in which robomimic stores the states of the simulator. If an episode has no observations, readers use these states as its
 * observations.
 */
export const STATES = "states";

/**
 * Returns the leaves of a demo. A leaf whose name the layout uses itself, or HDF5 cannot store, is renamed. A leaf of bytes is left out. Both are recorded as
 * losses.
 * @throws RldsError SPEC_MISMATCH if the steps lack a required field
 * @throws RldsError UNSUPPORTED if the reward is not a single leaf, or if the reward or the discount is a string
 */
export function demoLeaves(spec: StepSpec, losses: Losses): DemoLeaf[] {
  const { reward } = mustBeStepSpec(spec);
  if (!isLeaf(reward))
    throw new RldsError("UNSUPPORTED", "reward must be a single leaf, because robomimic stores all rewards in one dataset. Convert it with mapSteps");
  const entries = leavesOf(spec);
  const isWritten = ({ leaf }: LeafEntry) => leaf.dtype !== "bytes";
  const hasObservations = entries.some((entry) => entry.keys[0] === "observation" && isWritten(entry));
  // The elements of an array are named `_index_0`, `_index_1` …, as in Minari.
  const names = { reserved: hasObservations ? RESERVED : [...RESERVED, STATES], tidy, elementPrefix: "_index_" };
  return entries.flatMap((entry, index) => {
    const { keys, leaf } = entry;
    const { own, free } = leafNames(spec, keys, names);
    const [top = ""] = own;
    if (FLAGS.includes(top)) return [];
    if (!isWritten(entry)) {
      losses.add(entry.path, "the robomimic layout stores only numbers and strings");
      return [];
    }
    const [first = "", ...rest] = free;
    const isObservation = top === "observation";
    const single = leaf.shape.length === 3 && leaf.dtype === "u8" ? "image" : "state";
    const parts = isObservation ? (rest.length === 0 ? [single] : rest) : [top === "action" ? "actions" : top === "reward" ? "rewards" : first, ...rest];
    const isOutcome = OUTCOMES.includes(top);
    if (isText(leaf) && isOutcome && top !== "action") throw new RldsError("UNSUPPORTED", `${top} must be a number, got a string. Convert it with mapSteps`);
    const path = parts.join("/");
    const written = free.join("/");
    if (written !== own.join("/")) losses.add(`the name ${JSON.stringify(entry.path)}`, `robomimic does not allow this name, so the leaf is called ${written}`);
    return [{ ...entry, index, path, isObservation, isOutcome }];
  });
}

/** Replaces empty names and names of dots with `_`, and slashes and NULs in other names with `_`. */
function tidy(name: string): string {
  return BAD_NAME.test(name) ? "_" : name.replace(BAD_LETTERS, "_");
}
