/** Maps the names in the first line of a table to leaves. For example, `action.0` and `action.1` form an action of two numbers. */
import { MAX_LEAVES } from "../../../base/limits.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import { corruptFile, type Place, unsupportedFile } from "../../model/rlds-error.ts";

/** A leaf and the columns of its elements, in row-major order. */
export interface TableLeaf {
  readonly keys: readonly string[];
  /** The shape, which is empty for a single value. */
  readonly shape: readonly number[];
  readonly columns: readonly number[];
}

/** The name for a column without a name. pandas writes an unnamed index as such a column. */
const INDEX = "index";
/** The patterns that match the last index in names such as `a/b.0.1`, `a_0`, `a[0]` and `a[0][1]`. */
const PLACES = [/[._](\d{1,6})$/, /\[(\d{1,6})\]$/];
/** The maximum number of dimensions of a leaf in a table. */
const MAX_PLACES = 16;

interface Part {
  readonly column: number;
  readonly name: string;
  readonly base: string;
  readonly place: readonly number[];
}

/** Splits a name into its base and the indices at its end. All these indices must have the same notation. */
function partOf(name: string): Pick<Part, "base" | "place"> {
  for (const last of PLACES) {
    const place: number[] = [];
    let base = name;
    for (let found = last.exec(base); found !== null && found.index > 0 && place.length < MAX_PLACES; found = last.exec(base)) {
      place.unshift(Number(found[1]));
      base = base.slice(0, found.index);
    }
    if (place.length > 0) return { base, place };
  }
  return { base: name, place: [] };
}

/**
 * Returns the leaves that the column names describe.
 * @param place the place of the header, for messages
 * @throws RldsError CORRUPT if a name occurs twice
 * @throws RldsError UNSUPPORTED if the first line contains no names, or if there are too many leaves
 */
export function leavesOfHeader(names: readonly string[], place: Place): TableLeaf[] {
  if (names.every((name) => /^\s*[-+.\d]/.test(name) || name === ""))
    throw unsupportedFile(place, "the first line must contain the column names. Add names such as observation.0, action, reward");
  const parts = names.map((cell, column): Part => {
    const name = cell.trim() || INDEX;
    return { column, name, ...partOf(name) };
  });
  const twice = parts.find(({ name }, i) => parts.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined) throw corruptFile(place, `two columns are named ${twice.name}. Rename one of them`);
  const bases = new Map<string, Part[]>();
  for (const part of parts) if (part.place.length > 0) bases.set(part.base, [...(bases.get(part.base) ?? []), part]);
  const single = new Set(parts.filter(({ place }) => place.length === 0).map(({ name }) => name));
  const leaves = new Map<string, TableLeaf>();
  for (const part of parts) {
    const group = bases.get(part.base) ?? [];
    const array = part.place.length === 0 || single.has(part.base) ? undefined : arrayOf(group);
    // If the indices do not form a complete range from 0, they remain part of the names.
    const name = array === undefined ? part.name : part.base;
    if (!leaves.has(name)) leaves.set(name, array ?? { keys: keysOf(name), shape: [], columns: [part.column] });
  }
  if (leaves.size > MAX_LEAVES) throw unsupportedFile(place, `the table has ${leaves.size} leaves, but a step can have at most ${MAX_LEAVES}`);
  return withoutGroups([...leaves]);
}

/** Keeps a name such as `a.b` as a single key if `a` is also a leaf, because a leaf cannot contain other leaves. */
function withoutGroups(leaves: readonly (readonly [name: string, leaf: TableLeaf])[]): TableLeaf[] {
  const paths = new Set(leaves.map(([, { keys }]) => keys.join("/")));
  return leaves.map(([name, leaf]) => (leaf.keys.some((_, i) => i > 0 && paths.has(leaf.keys.slice(0, i).join("/"))) ? { ...leaf, keys: [name] } : leaf));
}

/** Returns the leaf that a group of columns forms, or undefined if their indices do not form a complete array. */
function arrayOf(group: readonly Part[]): TableLeaf | undefined {
  const dimensions = group[0]?.place.length ?? 0;
  if (group.some(({ place }) => place.length !== dimensions)) return undefined;
  const shape = Array.from({ length: dimensions }, (_, i) => 1 + Math.max(...group.map(({ place }) => place[i] as number)));
  if (sizeOf(shape) !== group.length) return undefined;
  const columns = new Array<number>(group.length).fill(-1);
  for (const { place, column } of group) columns[place.reduce((at, n, i) => at * (shape[i] as number) + n, 0)] = column;
  return columns.includes(-1) ? undefined : { keys: keysOf(group[0]?.base as string), shape, columns };
}

function keysOf(name: string): string[] {
  const keys = name.split(/[./]/);
  return keys.includes("") ? [name] : keys;
}
