/** Where the leaves of a step are in a demonstration of robomimic. */
import { isLeaf, isText } from "../../../schema/leaf.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeStepSpec } from "../../model/step-fields.ts";
import type { Losses } from "../sinks/losses.ts";

/** The dataset with what the source says of itself, as JSON. */
export const ABOUT = "/about";

export interface DemoLeaf extends LeafEntry {
  /** Its place among the leaves of a step. */
  readonly index: number;
  /** Below the demo, or below `obs` and `next_obs`. */
  readonly path: string;
  readonly isObservation: boolean;
  /** Whether it says nothing in a final observation. */
  readonly isOutcome: boolean;
}

const FLAGS = ["is_first", "is_last", "is_terminal"];
const OUTCOMES = ["action", "reward", "discount"];
/** Names that the layout has for something else. */
const RESERVED = ["obs", "next_obs", "actions", "rewards", "dones", "truncated", "states"];
/** Parts of a name that lead elsewhere in a file. */
const BAD_NAME = /^\.*$|[/\0]/;

/** @throws RldsError SPEC_MISMATCH, UNSUPPORTED */
export function demoLeaves(spec: StepSpec, losses: Losses): DemoLeaf[] {
  const { reward } = mustBeStepSpec(spec);
  if (!isLeaf(reward)) throw new RldsError("UNSUPPORTED", "reward must be a leaf, as robomimic has one dataset of rewards: change it with mapSteps");
  return leavesOf(spec).flatMap((entry, index) => {
    const { keys, leaf } = entry;
    const [top = "", ...rest] = namesOf(spec, keys);
    if (FLAGS.includes(top)) return [];
    if ([top, ...rest].some((name) => BAD_NAME.test(name)) || RESERVED.includes(top))
      throw new RldsError("UNSUPPORTED", `${JSON.stringify(entry.path)} cannot be the name of a dataset of robomimic: rename the leaf with mapSteps`);
    if (leaf.dtype === "bytes") {
      losses.add(entry.path, "HDF5 has numbers and texts here");
      return [];
    }
    const isObservation = top === "observation";
    const single = leaf.shape.length === 3 && leaf.dtype === "u8" ? "image" : "state";
    const names = isObservation ? (rest.length === 0 ? [single] : rest) : [top === "action" ? "actions" : top === "reward" ? "rewards" : top, ...rest];
    const isOutcome = OUTCOMES.includes(top);
    if (isText(leaf) && isOutcome && top !== "action") throw new RldsError("UNSUPPORTED", `${top} must be a number, got a text`);
    return [{ ...entry, index, path: names.join("/"), isObservation, isOutcome }];
  });
}

/** The keys of a leaf; an element of an array is `_index_0`, as Minari writes it. */
function namesOf(spec: StepSpec, keys: readonly string[]): string[] {
  let node: unknown = spec;
  return keys.map((key) => {
    const name = Array.isArray(node) ? `_index_${key}` : key;
    node = (node as { readonly [key: string]: unknown })[key];
    return name;
  });
}
