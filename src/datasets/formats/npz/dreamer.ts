/**
 * Reads files of Dreamer, each of which contains one episode. Arrays without a reserved name are observations. Each row has the reward that led to its
 * observation. Before version 3, it also has the action that led to the observation.
 */
import { Column, type ColumnTree, columnsOf, joined } from "../columns/column.ts";
import { fieldOf, fieldsOf } from "../columns/names.ts";
import type { Fields } from "./plan.ts";

interface Archive {
  readonly fields: Fields;
  readonly metadata: { readonly [name: string]: ColumnTree };
}

/** Matches arrays that the driver writes for its own use, which are not observations. */
const NOTES = /^(reset|consec|stepid|dyn|log_.*|logp.*)$/;
/** The arrays that only Dreamer 3 writes. In version 3, steps are numbered, and each row has the action that follows its observation. */
const IS_VERSION_3 = ["stepid", "consec"];

/** The fields by which a Dreamer file is recognized. No array is named observation. */
const FIELDS = ["action", "reward", "is_first", "is_terminal"] as const;

/** The version of Dreamer. The value 2 also stands for version 1, which writes the same form. */
export type DreamerVersion = 2 | 3;

/**
 * Determines the version that wrote a file from the names of all its arrays, including arrays that are not read. Returns undefined if it is not a Dreamer file.
 */
export function dreamerVersion(names: readonly string[]): DreamerVersion | undefined {
  const fields = [...fieldsOf(names).values()];
  const isDreamer = FIELDS.every((field) => fields.includes(field)) && !fields.includes("observation") && names.some((name) => isObserved(name));
  if (!isDreamer) return undefined;
  return IS_VERSION_3.some((name) => names.includes(name)) ? 3 : 2;
}

/** Returns whether an array of a Dreamer file is part of the observation, according to its name. */
export function isObserved(name: string): boolean {
  return fieldOf(name) === undefined && !NOTES.test(name);
}

/** Converts the rows of a Dreamer archive to RLDS steps. An archive without an observation, an action or a reward is returned unchanged. */
export async function withDreamerSteps(archive: Archive, version: DreamerVersion): Promise<Archive> {
  const { fields, metadata } = archive;
  const { action, reward, discount, is_last: isLast } = fields;
  if (!(reward instanceof Column) || action === undefined) return archive;
  // An array that was renamed to a part of the observation also belongs to the observation.
  const renamed = fields.observation === undefined || fields.observation instanceof Column ? {} : fields.observation;
  const { rows } = reward;
  const observed: [string, ColumnTree][] = [];
  const others: [string, ColumnTree][] = [];
  for (const [name, tree] of Object.entries(metadata))
    (isObserved(name) && columnsOf(tree).every((column) => column.rows === rows) ? observed : others).push([name, tree]);
  if ((observed.length === 0 && fields.observation === undefined) || rows === undefined || rows === 0) return archive;
  const rewardsArrive = await startsWithZeros(reward);
  const actionsArrive = version !== 3 && rewardsArrive && (await startsWithZeros(action));
  return {
    fields: {
      ...fields,
      observation: fields.observation instanceof Column ? fields.observation : { ...renamed, ...Object.fromEntries(observed) },
      action: actionsArrive ? mapTree(action, earlier) : action,
      reward: rewardsArrive ? earlier(reward) : reward,
      ...(discount !== undefined && { discount: rewardsArrive ? mapTree(discount, earlier) : discount }),
      // A truncated episode ends with its last observation, because the next action is unknown.
      ...(isLast instanceof Column && { is_last: endingLast(isLast) }),
    },
    metadata: Object.fromEntries(fields.observation instanceof Column ? Object.entries(metadata) : others),
  };
}

/** Returns whether the first row is all zeros. If so, each row has the values that led to its observation, and nothing led to the first observation. */
async function startsWithZeros(tree: ColumnTree): Promise<boolean> {
  for (const column of columnsOf(tree)) {
    if ((column.rows ?? 0) === 0) return false;
    const data = (await column.read(0, 1)) as ArrayLike<unknown>;
    if (Array.from(data).some((value) => Number(value) !== 0)) return false;
  }
  return true;
}

/** Moves each row to the previous step. The last step receives zeros. */
function earlier(column: Column): Column {
  const { leaf, rows = 0 } = column;
  return new Column({
    ...column,
    read: async (from, to) => joined(leaf, [await column.read(Math.min(from + 1, rows), Math.min(to + 1, rows))], to - from),
  });
}

function endingLast(column: Column): Column {
  const { rows = 0 } = column;
  return new Column({
    ...column,
    async read(from, to) {
      const data = await column.read(from, to);
      if (to === rows && to > from && ArrayBuffer.isView(data)) {
        const flags = (data as Uint8Array).slice();
        (flags as { [i: number]: unknown })[flags.length - 1] = typeof flags[0] === "bigint" ? 1n : 1;
        return flags;
      }
      return data;
    },
  });
}

function mapTree(tree: ColumnTree, change: (column: Column) => Column): ColumnTree {
  if (tree instanceof Column) return change(tree);
  if (Array.isArray(tree)) return tree.map((part) => mapTree(part, change));
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, mapTree(part, change)]));
}
