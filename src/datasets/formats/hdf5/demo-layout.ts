/** Maps the leaves of a step to their places in a demonstration ("demo") of robomimic. */
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
  /** The index among the leaves of a step. */
  readonly index: number;
  /** The path relative to the demo, or relative to `obs` and `next_obs`. */
  readonly path: string;
  readonly isObservation: boolean;
  /** Whether the leaf has no meaning in a final observation. */
  readonly isOutcome: boolean;
}

const FLAGS = ["is_first", "is_last", "is_terminal"];
const OUTCOMES = ["action", "reward", "discount"];
/** The names that the layout uses for other purposes. */
const RESERVED = ["obs", "next_obs", "actions", "rewards", "dones", "truncated"];
/** Matches names that HDF5 would resolve to another place. */
const BAD_NAME = /^\.*$/;
const BAD_LETTERS = /[/\0]/g;
/** The name of the dataset with the simulator states of robomimic. If an episode has no observations, these states are its observations. */
export const STATES = "states";

/**
 * Returns the leaves of a demo. If the layout uses a leaf's name, or if HDF5 cannot store the name, the leaf is renamed and a loss is recorded. @throws
 * RldsError SPEC_MISMATCH, UNSUPPORTED
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

/** Replaces names that HDF5 does not allow. These are names that consist of dots, and names that contain slashes or NUL. */
function tidy(name: string): string {
  return BAD_NAME.test(name) ? "_" : name.replace(BAD_LETTERS, "_");
}
