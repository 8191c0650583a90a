/** Reads files of d3rlpy 2. An episode consists of the datasets whose names end with its number, such as `observations_0` and `actions_0`. */
import { corruptFile } from "../../model/rlds-error.ts";
import { type Column, type ColumnTree, columnsOf } from "../columns/column.ts";
import type { EpisodeRange, TransitionTree } from "../columns/episode-ranges.ts";
import { squeezeColumn } from "../columns/flat.ts";
import type { Selection } from "../selection/selection.ts";
import type { Hdf5File } from "./hdf5-file.ts";

/** Matches `observations_0`, or `observations_0_1` for one element of an observation that is a tuple. */
const NAME = /^(.+?)_(\d{1,9})(?:_(\d{1,4}))?$/;
const FIELDS: { readonly [name: string]: string } = { observations: "observation", actions: "action", rewards: "reward" };

/** The names of the datasets of each field, by episode number and field. A tuple has one name per element. */
type Index = ReadonlyMap<number, ReadonlyMap<string, readonly string[]>>;

const indices = new WeakMap<Hdf5File, Index>();

/** Returns whether the names in a file's root are those of d3rlpy 2. */
export function isD3rlpy(names: readonly string[]): boolean {
  return names.includes("columns") && names.includes("version") && names.some((name) => /^actions_\d+$/.test(name));
}

async function indexOf(hdf5: Hdf5File): Promise<Index> {
  const known = indices.get(hdf5);
  if (known !== undefined) return known;
  const index = new Map<number, Map<string, string[]>>();
  for (const name of await hdf5.names("/")) {
    const [, base, number, part] = NAME.exec(name) ?? [];
    if (base === undefined) continue;
    const episode = index.get(Number(number)) ?? new Map<string, string[]>();
    const parts = episode.get(base) ?? [];
    parts[Number(part ?? 0)] = name;
    index.set(Number(number), episode.set(base, parts));
  }
  indices.set(hdf5, index);
  return index;
}

/** Returns the numbers of the episodes as strings, in order. */
export async function d3rlpyEpisodes(hdf5: Hdf5File): Promise<string[]> {
  const numbers = [...(await indexOf(hdf5))].filter(([, names]) => names.has("actions")).map(([number]) => number);
  return numbers.sort((a, b) => a - b).map(String);
}

/** Returns the number of episodes that the file declares, or undefined if it declares none. */
export async function d3rlpyCount(hdf5: Hdf5File): Promise<number | undefined> {
  for (const path of ["/num_episodes", "/total_size"]) {
    if ((await hdf5.entry(path)) !== "dataset") continue;
    const { rows, read } = await hdf5.column(path);
    if (rows === undefined) return Number((await read(0, 1))[0]);
  }
  return undefined;
}

/**
 * Returns the columns and rows of an episode. Datasets other than observations, actions and rewards are listed as unread if they do not have one row per
 * action.
 * @param number the number of the episode
 * @throws RldsError CORRUPT if the observations, actions or rewards are missing or have different numbers of rows
 * @throws RldsError UNSUPPORTED if a dataset has an unsupported type or filter
 */
export async function d3rlpyEpisode(
  hdf5: Hdf5File,
  number: string,
  selection: Selection,
): Promise<{ readonly tree: TransitionTree; readonly range: EpisodeRange; readonly unread: readonly string[] }> {
  const names = (await indexOf(hdf5)).get(Number(number)) ?? new Map<string, readonly string[]>();
  const error = (what: string) => corruptFile({ file: hdf5.name, episode: Number(number) }, `episode ${number} ${what}`);
  const treeOf = async (base: string): Promise<ColumnTree | undefined> => {
    const paths = names.get(base);
    if (paths === undefined) throw error(`has no ${base}_${number}`);
    const place = [FIELDS[base] ?? base];
    if (paths.length === 1) return selection.keysOf(place) === undefined ? undefined : hdf5.column(`/${paths[0]}`);
    const parts: Column[] = [];
    for (let i = 0; i < paths.length; i++) {
      const path = paths[i];
      if (path === undefined) throw error(`has no ${base}_${number}_${i}`);
      if (selection.keysOf([...place, String(i)]) !== undefined) parts.push(await hdf5.column(`/${path}`));
    }
    return parts;
  };
  const action = await treeOf("actions");
  const observation = await treeOf("observations");
  const reward = await treeOf("rewards");
  if (action === undefined || observation === undefined || reward === undefined) throw error("lacks a field that steps require: action, observation or reward");
  const rows = columnsOf(action)[0]?.rows ?? -1;
  const others: [string, ColumnTree][] = [];
  const unread: string[] = [];
  let isTerminated = false;
  for (const base of names.keys()) {
    if (Object.hasOwn(FIELDS, base)) continue;
    const tree = await treeOf(base);
    if (tree === undefined) continue;
    const columns = columnsOf(tree);
    if (base === "terminated") isTerminated = Number((await (columns[0] as Column).read(0, 1))[0]) !== 0;
    else if (columns.every((column) => column.rows === rows)) others.push([base, tree]);
    else unread.push(base);
  }
  const tree: TransitionTree = { ...Object.fromEntries(others), observation, action, reward: squeezeColumn(columnsOf(reward)[0] as Column) };
  for (const column of columnsOf(tree as unknown as ColumnTree))
    if (column.rows !== rows) throw error(`has ${column.rows ?? "no"} rows of ${column.path}, but ${rows} actions`);
  return { tree, range: { from: 0, to: rows, observedFrom: 0, finalStep: false, ending: isTerminated ? "terminated" : "truncated" }, unread };
}
