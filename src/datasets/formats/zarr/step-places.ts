/** Places the arrays of a Zarr store in a step. Arrays with the name of a field belong to that field, and all other arrays are observations. */
import { setPart } from "../../../schema/nest.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { Column, type ColumnTree, columnsOf, zeroColumn } from "../columns/column.ts";
import type { TransitionTree } from "../columns/episode-ranges.ts";
import { squeezeColumn } from "../columns/flat.ts";
import { type Field, fieldsOf, isWeakName } from "../columns/names.ts";
import type { Selection } from "../selection/selection.ts";

/** The place of a selected array in a step. */
export interface StepPlace {
  /** The names in the store, below `data`. */
  readonly names: readonly string[];
  /** The path in a step. The path of a flag is a single name. */
  readonly keys: readonly string[];
  readonly field: Field | undefined;
  /** Whether the array has the name of a required field. */
  readonly isNamed: boolean;
}

export interface StepPart extends StepPlace {
  readonly column: Column;
}

/** The fields that contain values of a step. The columns of all other fields are not leaves of the step. */
const VALUES: readonly (Field | undefined)[] = ["observation", "action", "reward", "discount"];
const ENDS: readonly (Field | undefined)[] = ["is_terminal", "terminated", "done"];
/** Matches names of times. As in all other formats, times are not part of the observation. */
const TIME = /^time_?stamps?$/i;

/** Returns the place of each selected array in a step. @param named the names of all arrays */
export function columnPlaces(named: readonly (readonly string[])[], selection: Selection): StepPlace[] {
  const tops = (list: readonly (readonly string[])[]) => [...new Set(list.map(([top = ""]) => top))];
  const placesOf = (list: readonly (readonly string[])[]) => {
    const fields = fieldsOf(tops(list));
    const hasObservation = tops(list).some((top) => fields.get(top) === "observation" && !isWeakName(top));
    return (names: readonly string[]): Omit<StepPlace, "names"> => {
      const [top = "", ...rest] = names;
      const field = fields.get(top);
      const isWeak = isWeakName(top);
      if (field !== undefined && !isWeak && field !== "next_observation")
        return { keys: VALUES.includes(field) ? [field, ...rest] : names, field, isNamed: true };
      if (!hasObservation && !TIME.test(top)) return { keys: ["observation", ...names], field: "observation", isNamed: field !== undefined };
      return { keys: names, field: undefined, isNamed: false };
    };
  };
  const original = placesOf(named);
  const selected = named.flatMap((names) => {
    const keys = selection.keysOf(names, original(names).keys);
    return keys === undefined ? [] : [{ names, keys, isRenamed: selection.isRenamed(names) }];
  });
  // For a renamed array, the new name determines whether it belongs to a field or to the metadata. All other arrays keep their places.
  const renamed = placesOf([["observation"], ...selected.filter(({ isRenamed }) => isRenamed).map(({ keys }) => keys)]);
  return selected.map(({ names, keys, isRenamed }) => ({ names, ...(isRenamed ? renamed(keys) : original(names)) }));
}

/** Returns the columns nested like a step. @throws RldsError CORRUPT if paths conflict · UNSUPPORTED if the observation or the action is missing */
export function stepTree(parts: readonly StepPart[], file: string): { readonly tree: TransitionTree; readonly terminal: Column | undefined } {
  const tree: { [name: string]: ColumnTree } = {};
  let terminal: Column | undefined;
  for (const { column, keys, field } of parts) {
    if (ENDS.includes(field)) terminal ??= squeezeColumn(column);
    if (field !== undefined && !VALUES.includes(field)) continue;
    place(tree, keys, field === "reward" || field === "discount" ? squeezeColumn(column) : column, file);
  }
  const { action, observation, reward } = tree;
  const names = parts.map((part) => part.names.join("/")).join(", ") || "none";
  if (action === undefined)
    throw unsupportedFile({ file }, `the group "data" has no array for action, got ${names}. Pass rename: { NAME: "action" } to choose one`);
  if (observation === undefined) throw unsupportedFile({ file }, `the group "data" has no array for observation, got ${names}`);
  const rows = columnsOf(action)[0]?.rows ?? 0;
  return { tree: { ...tree, observation, action, reward: reward ?? zeroColumn("reward", rows) }, terminal };
}

function place(tree: { [name: string]: ColumnTree }, keys: readonly string[], column: Column, file: string): void {
  let at = tree;
  const fail = () => corruptFile({ file }, `the paths of two arrays in a step conflict: ${keys.join("/")}. Rename one of them with rename: { … }`);
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(at, key)) setPart(at, key, {});
    const next = at[key] as ColumnTree;
    if (next instanceof Column) throw fail();
    at = next as { [name: string]: ColumnTree };
  }
  const name = keys.at(-1) as string;
  if (Object.hasOwn(at, name)) throw fail();
  setPart(at, name, column);
}
