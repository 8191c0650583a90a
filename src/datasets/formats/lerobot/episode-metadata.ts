/** Reads the metadata of episodes from the columns `episode/…` of meta/episodes. LeRobot ignores these columns. */

import { setPart } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { specDifference } from "../columns/spec-difference.ts";
import type { FileColumn } from "../parquet/columns.ts";
import { type ColumnMapping, checkNesting } from "../parquet/mapping.ts";
import type { ParquetFile } from "../parquet/parquet-file.ts";
import { EPISODE } from "../parquet/schema.ts";
import { columnOf, joined, leafOfColumn } from "../parquet/table.ts";

/** The names that are not read as metadata, because every episode has fields with these names. */
const OTHER_COLUMNS = ["steps", "episode_index"];

/**
 * Returns the metadata of all rows of a table, or undefined if the table has no metadata or no rows. @throws RldsError CORRUPT, UNSUPPORTED · SPEC_MISMATCH if
 * the spec differs from `previousSpec`
 */
export async function metadataOf(table: ParquetFile, previousSpec: StepSpec | undefined): Promise<StepColumns<object> | undefined> {
  const mappings = table.columns.flatMap((column): ColumnMapping[] => {
    const path = column.keys.join("/");
    const keys = path.slice(EPISODE.length).split("/");
    return path.startsWith(EPISODE) && column.dtype !== undefined && !OTHER_COLUMNS.includes(keys[0] as string) ? [{ column, keys }] : [];
  });
  if (mappings.length === 0 || table.rows === 0) return undefined;
  checkNesting(mappings, table.name);
  const spec: { [name: string]: unknown } = {};
  const data = new Map<string, ColumnData>();
  for (const { column, keys } of mappings) {
    const { leaf, values } = await wholeLeaf(table, column);
    const node = keys.slice(0, -1).reduce<{ [name: string]: unknown }>((at, key) => {
      if (!Object.hasOwn(at, key)) setPart(at, key, {});
      return at[key] as { [name: string]: unknown };
    }, spec);
    setPart(node, keys.at(-1) as string, leaf);
    data.set(keys.join("/"), values);
  }
  const difference = previousSpec && specDifference(previousSpec, spec as StepSpec);
  if (difference !== undefined)
    throw new RldsError("SPEC_MISMATCH", `the metadata of the episodes differs from that in the first file: ${difference}`, { file: table.name });
  const columns = leavesOf(spec as StepSpec).map(({ path }) => data.get(path) as ColumnData);
  return new StepColumns<object>(spec as StepSpec, columns, table.rows);
}

/** Reads all rows of a column. Returns them with the leaf of one row. */
export async function wholeLeaf(table: ParquetFile, column: FileColumn): Promise<{ readonly leaf: StepLeaf; readonly values: ColumnData }> {
  const chunks: ColumnData[] = [];
  let leaf: StepLeaf | undefined;
  for (const [group, rows] of table.groups.entries()) {
    const [chunk] = await table.read(group, [column]);
    leaf ??= leafOfColumn(column, chunk) as StepLeaf;
    chunks.push(columnOf(chunk as never, leaf, rows, { file: table.name, column }));
  }
  return { leaf: leaf as StepLeaf, values: joined(leaf as StepLeaf, chunks) };
}
