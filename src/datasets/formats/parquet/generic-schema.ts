/** Derives the spec of steps in generic files, which Reprise did not write. */

import { setPart } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { ABSENT } from "../columns/absent-fields.ts";
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
  /** Whether columns contain the observation after each action. If so, the last of these observations is the final observation of the episode. */
  readonly hasNext: boolean;
}

const BOOL = { dtype: "bool", shape: [] } as const;

/** Returns the schema. The first row determines the shapes of lists. @throws RldsError EMPTY if the file has lists but no rows */
export async function readGenericSchema(file: ParquetFile, mapping: Mapping): Promise<GenericSchema> {
  const listColumns = mapping.leaves.filter(({ column }) => column.listDepth > 0).map(({ column }) => column);
  const group = file.groups.findIndex((rows) => rows > 0);
  if (group < 0 && listColumns.length > 0) throw new RldsError("EMPTY", "the file has no rows, so the shapes of its lists are unknown", { file: file.name });
  const first = new Map<FileColumn, Awaited<ReturnType<ParquetFile["read"]>>[number]>();
  for (const column of listColumns) first.set(column, (await file.read(group, [column]))[0] as never);
  const leaves = mapping.leaves.map(
    ({ column, keys }): GenericLeaf => ({ keys, path: column.path, leaf: squeezed(keys, leafOfColumn(column, first.get(column)) as StepLeaf) }),
  );
  const hasNext = mapping.first === undefined && mapping.last === undefined && isSameForm(leaves);
  const spec: { [name: string]: unknown } = {};
  for (const { keys, leaf } of leaves) {
    if (hasNext && keys[0] === NEXT) continue;
    const node = keys.slice(0, -1).reduce<{ [name: string]: unknown }>((at, key) => {
      if (!Object.hasOwn(at, key)) setPart(at, key, {});
      return at[key] as { [name: string]: unknown };
    }, spec);
    setPart(node, keys.at(-1) as string, leaf);
  }
  const stepSpec = { reward: ABSENT, discount: ABSENT, ...spec, is_first: BOOL, is_last: BOOL, is_terminal: BOOL } as StepSpec;
  return { mapping, leaves, stepSpec, hasNext };
}

const NEXT = "next_observation";
const SINGLE = ["reward", "discount"];

/** Returns the leaf of a column. Rewards and discounts become single numbers, even if they are stored as lists of one element. */
function squeezed(keys: readonly string[], leaf: StepLeaf): StepLeaf {
  return keys.length === 1 && SINGLE.includes(keys[0] as string) && leaf.shape.length === 1 && leaf.shape[0] === 1
    ? ({ ...leaf, shape: [] } as StepLeaf)
    : leaf;
}

/** Returns whether there are next observations with the same leaves as the observations. */
function isSameForm(leaves: readonly GenericLeaf[]): boolean {
  const formOf = (field: string) =>
    leaves
      .filter(({ keys }) => keys[0] === field)
      .map(({ keys, leaf }) => JSON.stringify([keys.slice(1), leaf.dtype, leaf.shape]))
      .sort()
      .join();
  return leaves.some(({ keys }) => keys[0] === NEXT) && formOf(NEXT) === formOf("observation");
}
