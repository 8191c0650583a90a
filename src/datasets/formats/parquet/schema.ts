/** Defines the Parquet columns of a step. */

import { isText } from "../../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { About } from "../about.ts";
import { FORMAT_NAMES } from "../dtypes.ts";

/** The metadata key of Reprise files. Its value is a FileSchema as JSON. */
export const ABOUT = "reprise.rlds";
/** The prefix of column names for metadata of episodes. */
export const EPISODE = "episode/";
export const EPISODE_INDEX = "episode_index";
export const STEP_INDEX = "step_index";

export interface FileSchema {
  readonly version: 1;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  /** The number of this file, starting at 0. `last` is set if it is the last file. */
  readonly part: number;
  readonly last: boolean;
  /** The total number of episodes up to the end of this file. */
  readonly episodes: number;
  readonly steps: number;
  /** The numbers of the episodes without steps in this part, with their metadata as JSON values. */
  readonly empty: readonly (readonly [number, unknown])[];
  /** The metadata of the dataset. */
  readonly about?: About;
}

/** The properties of hyparquet's SchemaElement that Reprise uses. */
export interface SchemaElement {
  readonly name: string;
  readonly type?: "BOOLEAN" | "INT32" | "INT64" | "FLOAT" | "DOUBLE" | "BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY";
  readonly type_length?: number;
  readonly logical_type?: { readonly type: "FLOAT16" };
  readonly repetition_type?: "REQUIRED" | "OPTIONAL" | "REPEATED";
  readonly converted_type?: "UTF8" | "LIST" | "INT_8" | "INT_16" | "UINT_8" | "UINT_16" | "UINT_32" | "UINT_64";
  readonly num_children?: number;
}

export interface OutputColumn extends LeafEntry {
  readonly name: string;
  readonly of: "step" | "episode";
}

/** Lists the columns of a file. @throws RldsError UNSUPPORTED if a column has no name, or if two columns would have the same name */
export function listOutputColumns(stepSpec: StepSpec, metadataSpec: { readonly [name: string]: StepSpec }): OutputColumn[] {
  const columns: OutputColumn[] = [
    ...leavesOf(stepSpec).map((leaf) => ({ ...leaf, name: leaf.path, of: "step" as const })),
    ...leavesOf(metadataSpec as StepSpec).map((leaf) => ({ ...leaf, name: EPISODE + leaf.path, of: "episode" as const })),
  ];
  const names = new Set([EPISODE_INDEX, STEP_INDEX]);
  for (const { name } of columns) {
    if (name === "" || names.has(name))
      throw new RldsError(
        "UNSUPPORTED",
        name === "" ? "a leaf has no name. Name it with mapSteps" : `two columns would be named ${name}. Rename a leaf with mapSteps`,
      );
    names.add(name);
  }
  return columns;
}

/** Returns the schema of columns. A value with dimensions is a list, nested once per dimension. */
export function schemaOf(columns: readonly OutputColumn[]): SchemaElement[] {
  const required = "REQUIRED" as const;
  const index = (name: string): SchemaElement => ({ name, type: "INT64", repetition_type: required });
  const values = columns.flatMap(({ name, leaf }) => columnSchema(name, leaf));
  return [{ name: "schema", num_children: columns.length + 2 }, index(EPISODE_INDEX), index(STEP_INDEX), ...values];
}

/** Returns the schema elements of one column. */
export function columnSchema(name: string, leaf: StepLeaf): SchemaElement[] {
  const required = "REQUIRED" as const;
  const listSchema = leaf.shape.flatMap((_, depth): SchemaElement[] => [
    { name: depth === 0 ? name : "element", repetition_type: required, converted_type: "LIST", num_children: 1 },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
  ]);
  return [...listSchema, { name: leaf.shape.length === 0 ? name : "element", repetition_type: required, ...typeOf(leaf) }];
}

function typeOf(leaf: StepLeaf): Pick<SchemaElement, "type" | "type_length" | "logical_type" | "converted_type"> {
  if (isText(leaf)) return leaf.dtype === "string" ? { type: "BYTE_ARRAY", converted_type: "UTF8" } : { type: "BYTE_ARRAY" };
  if (leaf.dtype === "f16") return { type: "FIXED_LEN_BYTE_ARRAY", type_length: 2, logical_type: { type: "FLOAT16" } };
  const { type, integer } = FORMAT_NAMES[leaf.dtype].parquet as { readonly type: "FLOAT"; readonly integer?: "INT_8" | "INT_32" | "INT_64" };
  // A plain INT32 or INT64 needs no annotation.
  return { type, ...(integer !== undefined && integer !== "INT_32" && integer !== "INT_64" && { converted_type: integer }) };
}
