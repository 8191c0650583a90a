/**
 * Defines the layouts of episodes in robot datasets in HDF5, which are robomimic, ManiSkill, ALOHA and d3rlpy. LIBERO, MimicGen, Isaac Lab and robosuite also
 * use the layout of robomimic. In robosuite, states replace the observations.
 */
import { FINAL_STEP } from "../../model/final-step.ts";
import { corruptFile, type RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { absentReward } from "../columns/absent-fields.ts";
import { Column, type ColumnTree, columnsOf, rowSpec } from "../columns/column.ts";
import type { EpisodeRange, TransitionTree } from "../columns/episode-ranges.ts";
import { squeezeColumn } from "../columns/flat.ts";
import { specDifference } from "../columns/spec-difference.ts";
import type { Selection } from "../selection/selection.ts";
import { alohaImages } from "./aloha-images.ts";
import { d3rlpyEpisode, d3rlpyEpisodes, isD3rlpy } from "./d3rlpy.ts";
import type { Hdf5File } from "./hdf5-file.ts";

/** The layout of a robot dataset. */
export type RobotFormat = "robomimic" | "maniskill" | "aloha" | "d3rlpy";

/** An episode that has not been read yet. */
export interface RobotEpisode {
  readonly tree: TransitionTree;
  readonly range: EpisodeRange;
  /** The paths or names of the data in the episode that does not have one value per step, or that cannot be leaves. */
  readonly unread: readonly string[];
}

/** Determines the layout of a file from its groups. Returns undefined if the layout is unknown. */
export async function robotFormatOf(hdf5: Hdf5File): Promise<RobotFormat | undefined> {
  const names = await hdf5.names("/");
  if (isD3rlpy(names)) return "d3rlpy";
  if (names.some((name) => MANISKILL.test(name))) return "maniskill";
  if (names.includes("data") && (await hdf5.entry("/data")) === "group" && (await hdf5.names("/data")).some((name) => ROBOMIMIC.test(name))) return "robomimic";
  if (names.includes("action") && (await hdf5.entry("/observations")) === "group" && (await hdf5.names("/observations")).includes("qpos")) return "aloha";
  return undefined;
}

/** Returns whether an episode has values that can serve as observations. */
export async function hasObservations(hdf5: Hdf5File, format: RobotFormat, group: string): Promise<boolean> {
  // The episodes of d3rlpy are datasets in the root group and always have observations.
  if (format === "d3rlpy") return true;
  const entries = await hdf5.names(group === "" ? "/" : group);
  return NAMES[format].observation.some((name) => entries.includes(name));
}

/** Returns the error for a file whose episodes have no observations. */
export function withoutObservations(format: RobotFormat, file: string): RldsError {
  const names = format === "d3rlpy" ? ["observations"] : NAMES[format].observation;
  return unsupportedFile({ file }, `no episode has ${names.join(" or ")}. Add observations to the dataset first`);
}

type KeepColumn = (path: string) => boolean;

const MANISKILL = /^traj_\d+$/;
const ROBOMIMIC = /^demo_\d+$/;

/**
 * Returns the paths of the groups that contain the episodes, in the order of their numbers. For d3rlpy, returns the numbers of the episodes. An ALOHA file
 * contains a single episode, whose path is empty.
 */
export async function episodeGroups(hdf5: Hdf5File, format: RobotFormat): Promise<string[]> {
  if (format === "aloha") return [""];
  if (format === "d3rlpy") return d3rlpyEpisodes(hdf5);
  const [parent, rule] = format === "maniskill" ? ["", MANISKILL] : ["/data", ROBOMIMIC];
  const names = (await hdf5.names(parent === "" ? "/" : parent)).filter((name) => rule.test(name));
  const numberOf = (name: string) => Number(name.slice(name.indexOf("_") + 1));
  return names.sort((a, b) => numberOf(a) - numberOf(b)).map((name) => `${parent}/${name}`);
}

/** The names of the observations, the other fields of a step, and the flags in the group of an episode. */
interface Names {
  readonly observation: readonly string[];
  readonly nextObservation?: string;
  readonly action: string;
  readonly reward: string;
  readonly terminated: readonly string[];
  readonly truncated: string;
}

const NAMES: { readonly [format in Exclude<RobotFormat, "d3rlpy">]: Names } = {
  robomimic: {
    observation: ["obs", "states"],
    nextObservation: "next_obs",
    action: "actions",
    reward: "rewards",
    terminated: ["dones"],
    truncated: "truncated",
  },
  maniskill: { observation: ["obs", "env_states"], action: "actions", reward: "rewards", terminated: ["terminated"], truncated: "truncated" },
  aloha: { observation: ["observations"], action: "action", reward: "reward", terminated: [], truncated: "truncated" },
};

/**
 * Prepares an episode for reading.
 * @param group the path of the group, or the number of the episode for d3rlpy
 * @param selection the selection. Datasets that it leaves out are not opened
 * @throws RldsError CORRUPT if a field is missing, has the wrong number of rows, or is damaged
 * @throws RldsError UNSUPPORTED if a field has an unsupported type or filter
 */
export async function robotEpisode(hdf5: Hdf5File, format: RobotFormat, group: string, selection: Selection): Promise<RobotEpisode> {
  if (format === "d3rlpy") return d3rlpyEpisode(hdf5, group, selection);
  const file = hdf5.name;
  const names = NAMES[format];
  const entries = await hdf5.names(group === "" ? "/" : group);
  const observedNames = names.observation.filter((name) => entries.includes(name));
  const keepsBeside = (path: string, observed: string) => selection.keysOf(stepKeys(path.slice(group.length + 1).split("/"), names, observed)) !== undefined;
  // If an episode has states in addition to observations, the states keep their own name.
  selection.note(observedNames.slice(1).map((name) => [name]));
  const at = (name: string) => `${group}/${name}`;
  const error = (what: string) => corruptFile({ file }, `${group === "" ? "the file" : group} ${what}`);
  const observed = await firstWithRows(hdf5, observedNames.map(at), (path) =>
    keepsBeside(path, observedNames.find((name) => isBelow(path, at(name))) as string),
  );
  if (observed === undefined) throw error(`has no ${names.observation.join(" or ")}`);
  const observedName = observed.path.slice(group.length + 1);
  const keeps = (path: string) => keepsBeside(path, observedName);
  if (!entries.includes(names.action)) throw error(`has no ${names.action}`);
  const action = await hdf5.tree(at(names.action), keeps);
  const rows = columnsOf(action)[0]?.rows ?? -1;
  const observation = format === "aloha" ? await alohaImages(hdf5, observed.tree) : observed.tree;
  const observations = columnsOf(observation)[0]?.rows ?? -1;
  const hasNext =
    names.nextObservation !== undefined &&
    entries.includes(names.nextObservation) &&
    observed.path === at("obs") &&
    // writeHdf5 repeats the last observation of an episode whose last step is a transition.
    !(await statesTransition(hdf5, group));
  const next = hasNext ? await hdf5.tree(at(names.nextObservation as string), keeps) : undefined;
  const hasFinal = next !== undefined || observations === rows + 1;
  const flag = await lastFlag(hdf5, names.terminated.filter((name) => entries.includes(name)).map(at), rows);
  const used = [...names.terminated, names.truncated, names.nextObservation, names.action, names.reward, observedName];
  const others: [string, ColumnTree][] = [];
  const unread: string[] = [];
  for (const name of entries.filter((name) => !used.includes(name))) {
    const part = await stepTree(hdf5, at(name), { rows, hasFinal, keeps });
    if (part.tree !== undefined) others.push([name, part.tree]);
    unread.push(...part.unread);
  }
  const reward = entries.includes(names.reward) && keeps(at(names.reward)) ? squeezeColumn(await hdf5.column(at(names.reward))) : absentReward(rows);
  const tree: TransitionTree = {
    ...Object.fromEntries(others),
    observation: next === undefined ? observation : withFinal(observation, next, file),
    action,
    reward,
  };
  for (const column of [...columnsOf(action), reward])
    if (column.rows !== rows) throw error(`has ${column.rows ?? "no"} rows of ${column.path}, but ${rows} of ${names.action}`);
  for (const column of columnsOf(tree.observation))
    if (column.rows !== rows + Number(hasFinal)) throw error(`has ${column.rows ?? "no"} rows of ${column.path}, but ${rows} of ${names.action}`);
  const range = { from: 0, to: rows, observedFrom: 0, finalStep: hasFinal, ending: flag ? "terminated" : "truncated" } as const;
  return { tree, range, unread };
}

/** Returns whether the attribute `final_step` of an episode states that its last step is a transition. */
async function statesTransition(hdf5: Hdf5File, group: string): Promise<boolean> {
  const stated = (await hdf5.attributes(group)).get(FINAL_STEP);
  return stated?.data[0] === "transition";
}

const isBelow = (path: string, group: string) => path === group || path.startsWith(`${group}/`);

/** Returns the path in a step for a path in the group of an episode. @param observed the name of the group or dataset that contains the observations */
function stepKeys([top = "", ...rest]: readonly string[], { nextObservation, action, reward }: Names, observed: string): readonly string[] {
  if (top === observed || top === nextObservation) return ["observation", ...rest];
  return [top === action ? "action" : top === reward ? "reward" : top, ...rest];
}

async function firstWithRows(
  hdf5: Hdf5File,
  paths: readonly string[],
  keeps: KeepColumn,
): Promise<{ readonly path: string; readonly tree: ColumnTree } | undefined> {
  for (const path of paths) {
    const tree = await hdf5.tree(path, keeps);
    if (columnsOf(tree).length > 0) return { path, tree };
  }
  return undefined;
}

/**
 * Returns a dataset or group if all its columns have one value per step, and otherwise lists it as unread. For example, the initial states of Isaac Lab have
 * only one value, and some types cannot be leaves.
 */
async function stepTree(
  hdf5: Hdf5File,
  path: string,
  { rows, hasFinal, keeps }: { readonly rows: number; readonly hasFinal: boolean; readonly keeps: KeepColumn },
): Promise<{ readonly tree?: ColumnTree; readonly unread: readonly string[] }> {
  let isSelected = true;
  const noteKept = (below: string) => {
    const isKept = keeps(below);
    isSelected &&= isKept;
    return isKept;
  };
  let tree: ColumnTree;
  try {
    if ((await hdf5.entry(path)) === "dataset" && !keeps(path)) return { unread: [] };
    tree = await hdf5.tree(path, noteKept);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "UNSUPPORTED") throw error;
    return { unread: [path] };
  }
  const columns = columnsOf(tree);
  // The selection leaves out the whole group.
  if (columns.length === 0 && !isSelected) return { unread: [] };
  const fits = columns.length > 0 && columns.every((column) => column.rows === rows || (hasFinal && column.rows === rows + 1));
  return fits ? { tree, unread: [] } : { unread: [path] };
}

function mapTree(tree: ColumnTree, change: (column: Column) => Column): ColumnTree {
  if (tree instanceof Column) return change(tree);
  if (Array.isArray(tree)) return tree.map((part) => mapTree(part, change));
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, mapTree(part, change)]));
}

/** Returns whether any of several flags is set in the last row. @throws RldsError CORRUPT if a flag does not have one row per action */
async function lastFlag(hdf5: Hdf5File, paths: readonly string[], rows: number): Promise<boolean> {
  for (const path of paths) {
    const { rows: flags, read } = await hdf5.column(path);
    if (flags !== rows) throw corruptFile({ file: hdf5.name }, `${path} has ${flags ?? "no"} rows, but there are ${rows} actions`);
    if (rows > 0 && Number((await read(rows - 1, rows))[0]) !== 0) return true;
  }
  return false;
}

/**
 * Returns the observations, followed by the last row of the next observations. @throws RldsError CORRUPT if the next observations differ in spec or number of
 * rows
 */
function withFinal(observation: ColumnTree, next: ColumnTree, file: string): ColumnTree {
  const difference = specDifference(rowSpec(observation), rowSpec(next));
  if (difference !== undefined) throw corruptFile({ file }, `next_obs does not match the observations: ${difference}`);
  const nextColumns = columnsOf(next);
  const order = columnsOf(observation);
  return mapTree(observation, (column) => {
    const follower = nextColumns[order.indexOf(column)] as Column;
    const rows = column.rows as number;
    if (follower.rows !== rows) throw corruptFile({ file }, `${follower.path} has ${follower.rows ?? "no"} rows, but ${column.path} has ${rows}`);
    return new Column({
      ...column,
      rows: rows + 1,
      async read(from, to) {
        const own = await column.read(Math.min(from, rows), Math.min(to, rows));
        if (to <= rows) return own;
        const last = await follower.read(rows - 1, rows);
        if (Array.isArray(own)) return [...own, ...(last as readonly string[])];
        const all = new ((own as Float32Array).constructor as Float32ArrayConstructor)(own.length + last.length);
        all.set(own as Float32Array);
        all.set(last as Float32Array, own.length);
        return all;
      },
    });
  });
}
