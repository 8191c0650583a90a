/** Reads the schema in files that writeParquet wrote. */
import { isDtype } from "../../../schema/dtype.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { FORMAT_NAMES } from "../dtypes.ts";
import { parseJson } from "../json.ts";
import { specFromJson } from "../jsonl/spec-json.ts";
import type { FileColumn } from "./columns.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { ABOUT, EPISODE_INDEX, type FileSchema, listOutputColumns, STEP_INDEX } from "./schema.ts";
import { findColumn } from "./table.ts";

/**
 * Returns the schema of a file, or undefined if Reprise did not write the file.
 * @throws RldsError CORRUPT if the schema is damaged · UNSUPPORTED if another version wrote the file
 */
export function readRepriseSchema({ about, name: file }: ParquetFile): FileSchema | undefined {
  const text = about.get(ABOUT);
  if (text === undefined) return undefined;
  let json: Partial<FileSchema>;
  try {
    json = (parseJson(text) ?? {}) as Partial<FileSchema>;
  } catch (cause) {
    throw corruptFile({ file }, `the metadata ${ABOUT} is not valid JSON`, cause);
  }
  const { version, stepSpec, metadataSpec, part, last, episodes, steps, empty } = json;
  if (version !== 1) throw unsupportedFile({ file }, `the file has schema version ${version}, but this version of Reprise reads only version 1`);
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  const areEmpty = Array.isArray(empty) && empty.every((entry) => Array.isArray(entry) && entry.length === 2 && isCount(entry[0]));
  if (![part, episodes, steps].every(isCount) || typeof last !== "boolean" || !areEmpty) throw corruptFile({ file }, `the metadata ${ABOUT} is incomplete`);
  const [step, metadata] = [specFromJson(stepSpec, file), specFromJson(metadataSpec, file)];
  if (Array.isArray(metadata) || typeof (metadata as { dtype?: unknown }).dtype === "string")
    throw corruptFile({ file }, `metadataSpec in the metadata ${ABOUT} is not an object with a spec for each name`);
  return { ...(json as FileSchema), stepSpec: step, metadataSpec: metadata as { readonly [name: string]: StepSpec } };
}

/** Returns the dtype of a leaf in a file. bf16 is stored as f32. */
function storedDtype({ dtype }: StepLeaf): StepLeaf["dtype"] {
  return (isDtype(dtype) && FORMAT_NAMES[dtype].widened) || dtype;
}

/** Returns the columns of steps and of metadata, each in the order of the spec's leaves. @throws RldsError CORRUPT if a column is missing or differs */
export function findRepriseColumns(file: ParquetFile, { stepSpec, metadataSpec }: FileSchema) {
  const columns = listOutputColumns(stepSpec, metadataSpec).map((output) => {
    const { name, leaf, of } = output;
    const column = findColumn(file, name);
    if (column === undefined || column.dtype !== storedDtype(leaf) || column.listDepth !== leaf.shape.length)
      throw corruptFile(
        { file: file.name },
        `the metadata declares a column ${name} of ${leaf.dtype} with ${leaf.shape.length} dimensions, but the file has no such column`,
      );
    return { column, leaf, of };
  });
  const index = (name: string): FileColumn => {
    const column = findColumn(file, name);
    if (column?.dtype !== "i64" || column.listDepth !== 0) throw corruptFile({ file: file.name }, `the file has no i64 column ${name}`);
    return column;
  };
  return { columns, episode: index(EPISODE_INDEX), step: index(STEP_INDEX) };
}
