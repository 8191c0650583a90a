/** Applies a selection to an HDF5 file of flat columns, by hiding or renaming columns. */
import { setPart } from "../../../schema/nest.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { Column, ColumnTree } from "../columns/column.ts";
import type { Selection } from "../selection/selection.ts";
import type { Entry, Hdf5File } from "./hdf5-file.ts";

/** The part of the interface of `Hdf5File` that readers of flat columns need. */
export type Hdf5Columns = Pick<Hdf5File, "name" | "names" | "entry" | "tree" | "column">;

/** The group whose values are not per step. The selection does not apply to it. */
const METADATA = "metadata";

/** Returns a view of the file with the selection applied. */
export async function selectHdf5(hdf5: Hdf5File, selection: Selection): Promise<Hdf5Columns> {
  if (selection.isEmpty) return hdf5;
  const paths = new Map<string, string>();
  for (const keys of await hdf5.datasets()) {
    const selected = keys[0] === METADATA ? keys : selection.keysOf(keys);
    if (selected !== undefined) paths.set(`/${selected.join("/")}`, `/${keys.join("/")}`);
  }
  const isBelow = (path: string) => (name: string) => name.startsWith(path.endsWith("/") ? path : `${path}/`);
  const namesIn = (path: string) => {
    const below = [...paths.keys()].filter(isBelow(path));
    const length = path.endsWith("/") ? path.length : path.length + 1;
    return [...new Set(below.map((name) => name.slice(length).split("/")[0] as string))];
  };
  const entry = (path: string): Entry | undefined => (paths.has(path) ? "dataset" : namesIn(path).length > 0 ? "group" : undefined);
  const column = async (path: string): Promise<Column> => {
    const source = paths.get(path);
    if (source === undefined) throw corruptFile({ file: hdf5.name }, `the file has no ${path}`);
    return hdf5.column(source);
  };
  const tree = async (path: string): Promise<ColumnTree> => {
    if (entry(path) !== "group") return column(path);
    const node = {};
    const names = namesIn(path);
    for (const name of names) setPart(node, name, await tree(`${path}/${name}`));
    const isTuple = names.every((name) => /^_index_\d+$/.test(name));
    return isTuple
      ? names.sort((a, b) => Number(a.slice(7)) - Number(b.slice(7))).map((name) => (node as { [name: string]: ColumnTree })[name] as ColumnTree)
      : (node as ColumnTree);
  };
  return { name: hdf5.name, names: async (path) => namesIn(path), entry: async (path) => entry(path), column, tree: (path) => tree(path) };
}
