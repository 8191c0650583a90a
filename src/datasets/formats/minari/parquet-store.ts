/** Reads Minari's Parquet form, which has one folder per episode with a table and metadata.json. */

import { sizeOf } from "../../../schema/leaf.ts";
import { setPart } from "../../../schema/nest.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column, type ColumnTree } from "../columns/column.ts";
import { lazy } from "../lazy.ts";
import { parquetFile } from "../parquet/parquet-file.ts";
import { bytesOf, columnOf, joined, leafOfColumn, slice } from "../parquet/table.ts";
import type { Selection } from "../selection/selection.ts";
import { type SourceFolder, sortPaths } from "../sources/source.ts";
import { attributesOf } from "./attributes.ts";
import type { Attribute, EpisodeStore } from "./episode-store.ts";
import type { Space } from "./images.ts";
import { episodeMetadataOf } from "./metadata.ts";

/** A column of a table in memory. */
interface MemoryColumn {
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  readonly data: ColumnData;
}

interface Table {
  /** Whether the file has infos, even if they are not read. */
  readonly hasInfos: boolean;
  readonly rows: number;
  readonly columns: readonly MemoryColumn[];
}

/** The path of an episode's table, and the path of its folder with a trailing slash. */
interface EpisodePaths {
  readonly table: string;
  readonly folder: string;
}

export interface ParquetStoreOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Whether infos are read. */
  readonly infos: boolean;
  readonly spaces: { readonly observation?: Space; readonly action?: Space };
  /** The number of episodes according to the metadata, for folders that cannot be listed. */
  readonly episodes: number;
  readonly selection: Selection;
}

/** The columns with one row per action, plus a last row that has no meaning. */
const PADDED = new Set(["actions", "rewards", "terminations", "truncations"]);

export class ParquetStore implements EpisodeStore {
  readonly name: string;
  readonly maxBytes: number;
  readonly #folder: SourceFolder;
  readonly #options: ParquetStoreOptions;
  readonly #paths: ReadonlyMap<string, EpisodePaths>;
  #current: { readonly group: string; readonly table: () => Promise<Table> } | undefined;

  /** @param base the prefix of the paths, which is empty or ends with a slash @throws RldsError UNSUPPORTED if an episode has several tables */
  static async of(folder: SourceFolder, base: string, options: ParquetStoreOptions): Promise<ParquetStore> {
    const all = await folder.list();
    const paths = new Map<string, EpisodePaths>();
    const add = (number: string, table: string) => {
      const group = `episode_${number}`;
      if (paths.has(group))
        throw unsupportedFile({ file: table }, `episode ${number} has several tables, but Minari writes one Parquet file per episode. Remove all others`);
      paths.set(group, { table, folder: `${base}${number}/` });
    };
    for (const path of all === undefined ? [] : sortPaths(all)) {
      const [number = "", name = "", ...more] = path.startsWith(base) ? path.slice(base.length).split("/") : [];
      if (more.length === 0 && /^\d{1,9}$/.test(number) && name.endsWith(".parquet") && !/^[._]/.test(name)) add(number, path);
    }
    if (all === undefined) for (let i = 0; i < options.episodes; i++) add(String(i), `${base}${i}/part-0.parquet`);
    return new ParquetStore(folder, paths, options);
  }

  private constructor(folder: SourceFolder, paths: ReadonlyMap<string, EpisodePaths>, options: ParquetStoreOptions) {
    this.name = folder.name;
    this.maxBytes = options.maxBytes;
    this.#folder = folder;
    this.#paths = paths;
    this.#options = options;
  }

  async names(): Promise<string[]> {
    return [...this.#paths.keys()];
  }

  async entry(path: string): Promise<"group" | undefined> {
    const { columns, field } = await this.#field(path);
    return columns.some(({ keys }) => keys[0] === field) ? "group" : undefined;
  }

  async tree(path: string): Promise<ColumnTree> {
    const { columns, field, rows } = await this.#field(path);
    const { observation, action } = this.#options.spaces;
    const space = field === "observations" ? observation : field === "actions" ? action : undefined;
    const fieldColumns = columns.filter(({ keys }) => keys[0] === field);
    return nestColumns(fieldColumns, 1, space, (column, shape) => columnOfRows(column, shape, PADDED.has(field) ? rows - 1 : rows));
  }

  async column(path: string): Promise<Column> {
    const { columns, field, rows, group } = await this.#field(path);
    const column = columns.find(({ keys }) => keys.length === 1 && keys[0] === field);
    if (column === undefined) throw corruptFile({ file: this.#at(group).table }, `the table has no column ${field}`);
    return columnOfRows(column, undefined, rows - 1);
  }

  async hasInfos(group: string): Promise<boolean> {
    return (await this.#field(`/${group}/infos`)).hasInfos;
  }

  async attributes(path: string): Promise<ReadonlyMap<string, Attribute>> {
    return attributesOf(await episodeMetadataOf(this.#folder, `${this.#at(path.slice(1)).folder}metadata.json`));
  }

  async close(): Promise<void> {
    this.#current = undefined;
  }

  #at(group: string): EpisodePaths {
    return this.#paths.get(group) as EpisodePaths;
  }

  /** Resolves `/episode_0/observations` to the table of the episode and the name of the column. */
  async #field(path: string): Promise<Table & { readonly group: string; readonly field: string }> {
    const [, group = "", field = ""] = path.split("/");
    if (this.#current?.group !== group) this.#current = { group, table: lazy(() => this.#table(this.#at(group).table)) };
    return { ...(await this.#current.table()), group, field };
  }

  async #table(path: string): Promise<Table> {
    const { maxBytes, signal, infos, selection } = this.#options;
    const tableFile = await this.#folder.open(path);
    try {
      const file = await parquetFile(tableFile, maxBytes);
      const { rows, groups } = file;
      if (rows === 0) throw corruptFile({ file: path }, "the table has no rows, but an episode has at least one");
      const columns: MemoryColumn[] = [];
      let bytes = 0;
      for (const column of file.columns.filter(({ keys }) => keys[0] === "observations" || PADDED.has(keys[0] as string) || (infos && keys[0] === "infos"))) {
        if (!isReadColumn(column.keys, selection)) continue;
        const chunks: ColumnData[] = [];
        let leaf: StepLeaf | undefined;
        for (const [group, groupRows] of groups.entries()) {
          signal?.throwIfAborted();
          const [chunk] = await file.read(group, [column]);
          leaf ??= leafOfColumn(column, chunk) as StepLeaf;
          // The last row of the column may have no value.
          const isPad = PADDED.has(column.keys[0] as string) && group === groups.length - 1 && chunk?.missing === groupRows - 1;
          chunks.push(columnOf({ ...(chunk as NonNullable<typeof chunk>), ...(isPad ? { missing: -1 } : {}) }, leaf, groupRows, { file: path, column }));
        }
        bytes += bytesOf(chunks);
        if (bytes > maxBytes) throw corruptFile({ file: path }, `the episode takes more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
        columns.push({ keys: column.keys, leaf: leaf as StepLeaf, data: joined(leaf as StepLeaf, chunks) });
      }
      return { rows, columns, hasInfos: file.columns.some(({ keys }) => keys[0] === "infos") };
    } finally {
      await tableFile.close();
    }
  }
}

/** Returns whether to read a column. Columns that mark the ends of episodes are always read. */
export function isReadColumn(keys: readonly string[], selection: Selection): boolean {
  const [name = "", ...rest] = keys;
  const field = { observations: "observation", actions: "action", rewards: "reward", infos: "infos" }[name];
  return field === undefined || selection.keysOf([field, ...rest]) !== undefined;
}

/** Returns the columns by name. The struct of a Tuple becomes an array. */
function nestColumns(
  columns: readonly MemoryColumn[],
  depth: number,
  space: Space | undefined,
  of: (column: MemoryColumn, space: Space | undefined) => Column,
): ColumnTree {
  const [first] = columns;
  if (first !== undefined && columns.length === 1 && first.keys.length === depth) return of(first, space);
  const names = [...new Set(columns.map(({ keys }) => keys[depth] as string))];
  const subspaces = typeof space?.subspaces === "object" && space.subspaces !== null ? space.subspaces : {};
  const node = {};
  for (const name of names) {
    const below = columns.filter(({ keys }) => keys[depth] === name);
    setPart(node, name, nestColumns(below, depth + 1, Object.hasOwn(subspaces, name) ? subspaces[name] : undefined, of));
  }
  return space?.type === "Tuple" && names.every((name, i) => name === String(i))
    ? (Object.values(node) as ColumnTree[])
    : (node as { [name: string]: ColumnTree });
}

/** Returns the first rows of a column in the shape of its space. */
function columnOfRows({ keys, leaf, data }: MemoryColumn, space: Space | undefined, rows: number): Column {
  const size = sizeOf(leaf.shape);
  const shape = leaf.shape.length > 0 && space?.type === "Box" && isShape(space.shape) && sizeOf(space.shape) === size ? space.shape : leaf.shape;
  return new Column({
    path: keys.join("/"),
    leaf: { dtype: leaf.dtype, shape } as StepLeaf,
    rows,
    rowBytes: bytesOf([data]) / Math.max(rows, 1),
    read: async (from, to) => slice(data, size, from, to),
  });
}

function isShape(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((length) => Number.isSafeInteger(length) && length >= 0);
}
