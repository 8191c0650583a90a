/** Where the leaves of a step are in a demonstration of robomimic. */
import { isLeaf, isText } from "../../../schema/leaf.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeStepSpec } from "../../model/step-fields.ts";
import { freeNames } from "../sinks/free-names.ts";
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
const RESERVED = ["obs", "next_obs", "actions", "rewards", "dones", "truncated"];
/** Parts of a name that lead elsewhere in a file. */
const BAD_NAME = /^\.*$/;
const BAD_LETTERS = /[/\0]/g;
/** Has the simulator's states of robomimic; they are the observations of an episode without others. */
export const STATES = "states";

/** A leaf whose name the layout has for something else, or HDF5 cannot hold, gets another one, which is stated as a loss. @throws RldsError SPEC_MISMATCH, UNSUPPORTED */
export function demoLeaves(spec: StepSpec, losses: Losses): DemoLeaf[] {
  const { reward } = mustBeStepSpec(spec);
  if (!isLeaf(reward)) throw new RldsError("UNSUPPORTED", "reward must be a leaf, as robomimic has one dataset of rewards: change it with mapSteps");
  const entries = leavesOf(spec);
  const isWritten = ({ leaf }: LeafEntry) => leaf.dtype !== "bytes";
  const hasObservations = entries.some((entry) => entry.keys[0] === "observation" && isWritten(entry));
  const reserved = hasObservations ? RESERVED : [...RESERVED, STATES];
  return entries.flatMap((entry, index) => {
    const { keys, leaf } = entry;
    const own = ownNames(spec, keys);
    const [top = ""] = own;
    if (FLAGS.includes(top)) return [];
    if (!isWritten(entry)) {
      losses.add(entry.path, "HDF5 has numbers and texts here");
      return [];
    }
    const [first = "", ...rest] = fileNames(spec, keys, reserved);
    const isObservation = top === "observation";
    const single = leaf.shape.length === 3 && leaf.dtype === "u8" ? "image" : "state";
    const names = isObservation ? (rest.length === 0 ? [single] : rest) : [top === "action" ? "actions" : top === "reward" ? "rewards" : first, ...rest];
    const isOutcome = OUTCOMES.includes(top);
    if (isText(leaf) && isOutcome && top !== "action") throw new RldsError("UNSUPPORTED", `${top} must be a number, got a text`);
    const path = names.join("/");
    const written = [first, ...rest].join("/");
    if (written !== own.join("/")) losses.add(`the name ${JSON.stringify(entry.path)}`, `robomimic has none like it, and the leaf is called ${written}`);
    return [{ ...entry, index, path, isObservation, isOutcome }];
  });
}

/** The keys of a leaf; an element of an array is `_index_0`, as Minari writes it. */
function ownNames(spec: StepSpec, keys: readonly string[]): string[] {
  return groupsOf(spec, keys).map(({ prefix }, depth) => prefix + keys[depth]);
}

/** The names of a leaf in the file. @param reserved names that no leaf has at the top */
function fileNames(spec: StepSpec, keys: readonly string[], reserved: readonly string[]): string[] {
  return groupsOf(spec, keys).map(({ prefix, names }, depth) => {
    const own = prefix + keys[depth];
    return freeNames(names, depth === 0 ? reserved : [], tidy).get(own) ?? own;
  });
}

/** The groups that a leaf is in, with all names in them. */
function groupsOf(spec: StepSpec, keys: readonly string[]): readonly { readonly prefix: string; readonly names: readonly string[] }[] {
  let node: unknown = spec;
  return keys.map((key) => {
    const group = node as { readonly [key: string]: unknown };
    const prefix = Array.isArray(group) ? "_index_" : "";
    node = group[key];
    return { prefix, names: Object.keys(group).map((name) => prefix + name) };
  });
}

/** HDF5 has no names of dots, and none with slashes. */
function tidy(name: string): string {
  return BAD_NAME.test(name) ? "_" : name.replace(BAD_LETTERS, "_");
}
