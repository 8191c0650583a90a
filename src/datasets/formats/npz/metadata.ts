/** Reads the arrays of an archive that do not have one value per step, which are metadata of the episodes or of the archive. */
import { isText, sizeOf } from "../../../schema/leaf.ts";
import { setPart } from "../../../schema/nest.ts";
import type { StepSpec } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column, type ColumnTree } from "../columns/column.ts";

/** The maximum size in bytes of an array in `about`. Larger arrays are left out. */
const MAX_ABOUT_BYTES = 65_536;
/** The name of the array in files of imitation that contains the beginnings of all episodes except the first. */
export const INDICES = "indices";

interface Trees {
  readonly [name: string]: ColumnTree;
}

/** Separates metadata of steps from other metadata. @param rows the number of steps. The `indices` of imitation always belong to the steps */
export function metadataParts(metadata: Trees, rows: number | undefined): { readonly steps: Trees; readonly others: readonly Column[] } {
  const others: Column[] = [];
  const visit = (tree: ColumnTree): ColumnTree | undefined => {
    if (tree instanceof Column) {
      if (tree.rows === rows || tree.path === INDICES) return tree;
      others.push(tree);
      return undefined;
    }
    const entries = Object.entries(tree as Trees).map(([name, part]) => [name, visit(part)] as const);
    const kept = entries.filter(([, part]) => part !== undefined);
    return kept.length === 0 ? undefined : (Object.fromEntries(kept) as Trees);
  };
  return { steps: (visit(metadata) ?? {}) as Trees, others };
}

export interface EpisodeMetadata {
  readonly spec: { readonly [name: string]: StepSpec };
  readonly about: { readonly [name: string]: unknown };
  valuesAt(episode: number): object;
}

/** Returns the metadata of the episodes and of the archive. @param columns the columns that do not have one value per step */
export async function episodeMetadata(columns: readonly Column[], episodes: number): Promise<EpisodeMetadata> {
  const spec = {};
  const about = {};
  const values: { readonly column: Column; readonly data: ColumnData; readonly keys: readonly string[] }[] = [];
  for (const column of columns) {
    const { rows, rowBytes, leaf, path } = column;
    const keys = path.split("/");
    if ((rows ?? 1) * rowBytes > MAX_ABOUT_BYTES && rows !== episodes) continue;
    const data = await column.read(0, rows ?? 1);
    if ((rows === undefined || rows === episodes) && keys[0] !== "steps") {
      values.push({ column, data, keys });
      place(spec, keys, leaf);
    }
    if (rows === undefined || rows !== episodes) place(about, keys, rows === undefined && leaf.shape.length === 0 ? plain(valueAt(column, data, 0)) : data);
  }
  return {
    spec,
    about,
    valuesAt(episode) {
      const metadata = {};
      for (const { column, data, keys } of values) place(metadata, keys, valueAt(column, data, column.rows === undefined ? 0 : episode));
      return metadata;
    },
  };
}

function valueAt({ leaf }: Column, data: ColumnData, i: number): unknown {
  const size = sizeOf(leaf.shape);
  if (leaf.shape.length === 0) return leaf.dtype === "bool" ? data[i] === 1 : data[i];
  return isText(leaf) ? data.slice(i * size, (i + 1) * size) : (data as Float32Array).slice(i * size, (i + 1) * size);
}

/** Converts a value for JSON. A bigint becomes a number if the number is exact. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Sets the value at a path. No two columns have the same path, and no path is inside another path. */
function place(tree: object, keys: readonly string[], value: unknown): void {
  let at = tree as { [name: string]: unknown };
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(at, key)) setPart(at, key, {});
    at = at[key] as { [name: string]: unknown };
  }
  setPart(at, keys.at(-1) as string, value);
}
