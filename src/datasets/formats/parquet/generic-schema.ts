/** The spec of steps in generic files, which Reprise did not write. */

import { setPart } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { FileColumn } from "./columns.ts";
import type { Mapping } from "./mapping.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { leafOfColumn } from "./table.ts";

export interface GenericLeaf {
  readonly keys: readonly string[];
  readonly path: string;
  readonly leaf: StepLeaf;
}

export interface GenericSchema {
  readonly mapping: Mapping;
  readonly leaves: readonly GenericLeaf[];
  readonly stepSpec: StepSpec;
}

const FLOAT = { dtype: "f32", shape: [] } as const;
const BOOL = { dtype: "bool", shape: [] } as const;

/** Shapes of lists are those of the first row. @throws RldsError EMPTY where lists have no row to tell their shape */
export async function readGenericSchema(file: ParquetFile, mapping: Mapping): Promise<GenericSchema> {
  const listColumns = mapping.leaves.filter(({ column }) => column.listDepth > 0).map(({ column }) => column);
  const group = file.groups.findIndex((rows) => rows > 0);
  if (group < 0 && listColumns.length > 0) throw new RldsError("EMPTY", "the file has no rows, so the shapes of its lists are unknown", { file: file.name });
  const first = new Map<FileColumn, Awaited<ReturnType<ParquetFile["read"]>>[number]>();
  for (const column of listColumns) first.set(column, (await file.read(group, [column]))[0] as never);
  const leaves = mapping.leaves.map(
    ({ column, keys }): GenericLeaf => ({ keys, path: column.path, leaf: leafOfColumn(column, first.get(column)) as StepLeaf }),
  );
  const spec: { [name: string]: unknown } = {};
  for (const { keys, leaf } of leaves) {
    const node = keys.slice(0, -1).reduce<{ [name: string]: unknown }>((at, key) => {
      if (!Object.hasOwn(at, key)) setPart(at, key, {});
      return at[key] as { [name: string]: unknown };
    }, spec);
    setPart(node, keys.at(-1) as string, leaf);
  }
  const stepSpec = { reward: FLOAT, discount: FLOAT, ...spec, is_first: BOOL, is_last: BOOL, is_terminal: BOOL } as StepSpec;
  return { mapping, leaves, stepSpec };
}
