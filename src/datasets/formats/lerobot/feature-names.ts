/**
 * Places the features of a LeRobot dataset in a step, according to the names of LeRobot, the names of openpi and other projects, or names that the caller sets.
 */
import { unsupportedFile } from "../../model/rlds-error.ts";
import { type Field, fieldsOf } from "../columns/names.ts";
import type { Selection } from "../selection/selection.ts";
import { type Feature, INFO, type LeRobotInfo } from "./info.ts";

/** Features that have a different name in RLDS. */
const NAMES: { readonly [name: string]: readonly string[] } = { "next.reward": ["reward"] };
/** The feature with the times of frames. References to videos require it, even if it is left out of the steps. */
const TIME = "timestamp";
const TASK = "task_index";

/** The selected features of a dataset. */
export interface NamedFeatures {
  readonly info: LeRobotInfo;
  /** Whether steps contain the text of their task. */
  readonly hasTask: boolean;
}

/** Returns the selected features with their places in a step. @throws RldsError UNSUPPORTED if there is no observation or no action */
export function nameFeatures(info: LeRobotInfo, selection: Selection): NamedFeatures {
  const found = foundNames(info);
  const features = new Map<string, Feature>();
  const excluded = new Map<string, Feature>();
  for (const [name, feature] of info.features) {
    const keys = found.get(name) ?? NAMES[name] ?? name.split(".");
    const isStructural = name === "episode_index" || name === "next.done" || name === "next.success";
    const selected = selection.keysOf([name], keys);
    const isRenamed = selection.isRenamed([name]);
    if (selected !== undefined) features.set(name, isRenamed ? { ...feature, keys: selected, isRenamed } : { ...feature, keys });
    else (isStructural ? features : excluded).set(name, { ...feature, keys, isHidden: true });
  }
  // A task belongs to the episode, although each frame stores its number.
  const keepsTask = selection.metadataKeysOf(["task"]) !== undefined;
  const [time, task] = [excluded.get(TIME), excluded.get(TASK)];
  if (time !== undefined && [...features.values()].some(({ dtype }) => dtype === "video")) features.set(TIME, time);
  if (task !== undefined && keepsTask && !selection.isEmpty) features.set(TASK, task);
  for (const field of ["observation", "action"]) {
    if ([...features.values()].some(({ keys }) => keys[0] === field)) continue;
    const names = [...info.features.keys()].join(", ");
    throw unsupportedFile({ file: INFO }, `the dataset must have a feature for ${field}, got ${names}. Pass rename: { NAME: "${field}" } to choose one`);
  }
  return { info: { ...info, features }, hasTask: features.has(TASK) && (selection.isEmpty || keepsTask) };
}

/** Finds places in a step for features with the names of other projects, such as `state`, `image` and `actions` of openpi, if LeRobot's names are missing. */
function foundNames({ features }: LeRobotInfo): Map<string, readonly string[]> {
  const first = (name: string) => (NAMES[name] ?? name.split("."))[0];
  const lacks = (field: string) => ![...features.keys()].some((name) => first(name) === field);
  const fields = fieldsOf([...features.keys()]);
  const named = (field: Field) => [...fields].flatMap(([name, found]) => (found === field ? [name] : []));
  const found = new Map<string, readonly string[]>();
  if (lacks("observation")) {
    for (const [name, { dtype }] of features) if (dtype === "image" || dtype === "video") found.set(name, ["observation", ...name.split(".")]);
    for (const name of named("observation")) found.set(name, ["observation", "state"]);
  }
  for (const field of ["action", "reward"] as const) if (lacks(field)) for (const name of named(field)) found.set(name, [field]);
  return found;
}
