/** Episodes of generic files: rows, cut where an episode's number changes, or where a flag is set. */

import { zeros } from "../../../schema/dtype.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import type { ReadEpisode } from "../reader.ts";
import type { FileColumn } from "./columns.ts";
import { EpisodeBoundaries, isSet, type Roles, roleColumns, rolesOf, sameColumn } from "./episode-boundaries.ts";
import { EpisodeBuffer } from "./episode-buffer.ts";
import { finalRowOf } from "./final-row.ts";
import type { GenericSchema } from "./generic-schema.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { bytesOf, columnOf } from "./table.ts";

export interface GenericReadOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** The row of the first file with which an episode begins, where it is not the first one of all. */
  readonly row?: number;
}

const BOOL: StepLeaf = { dtype: "bool", shape: [] };

/** @throws RldsError CORRUPT, UNSUPPORTED, INVALID_DATA for values that are missing */
export async function* readGenericEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  schema: GenericSchema,
  { maxBytes, signal, row = 0 }: GenericReadOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  const { mapping, leaves } = schema;
  // Behind the file's own columns: whether the row is the first, last, terminal.
  const buffer = new EpisodeBuffer<unknown>([...leaves.map(({ leaf }) => leaf), BOOL, BOOL, BOOL] as StepSpec, maxBytes);
  const boundaries = new EpisodeBoundaries(mapping);
  const hasRldsFlags = (mapping.first ?? mapping.last) !== undefined;
  const finishEpisode = (isEnd: boolean): ReadEpisode<S> => {
    const steps = createSteps<S>(schema, buffer.take().data, isEnd);
    return { steps, [FINAL_STEP]: finalRowOf(steps, hasRldsFlags) };
  };
  let skippedRows = row;
  for await (const file of files) {
    const columns = leaves.map(({ path, leaf }) => sameColumn(file, path, leaf));
    const readColumns = [...columns, ...roleColumns(mapping).map(({ path }) => sameColumn(file, path))];
    for (const [group, rows] of file.groups.entries()) {
      signal?.throwIfAborted();
      if (skippedRows >= rows) {
        skippedRows -= rows;
        continue;
      }
      const read = await file.read(group, readColumns);
      const leafColumns = leaves.map(({ leaf }, k) => columnOf(read[k] as never, leaf, rows, { file: file.name, column: columns[k] as FileColumn }));
      const roles = rolesOf(mapping, read.slice(leaves.length), rows, file.name);
      if (bytesOf([...leafColumns, ...Object.values(roles)]) > maxBytes)
        throw corruptFile({ file: file.name }, `a row group has more than the ${maxBytes} bytes that maxBytes allows`);
      const data = [...leafColumns, ...flagsOf(roles, rows)];
      let from = skippedRows;
      skippedRows = 0;
      for (const { to, isEnd } of boundaries.of(roles, rows, from)) {
        buffer.push(data, from, to, file.name);
        from = to;
        yield finishEpisode(isEnd);
      }
      if (from < rows) buffer.push(data, from, rows, file.name);
    }
    skippedRows = 0;
    if (boundaries.endsWithFile()) yield finishEpisode(true);
  }
  // Flags that never came: the data just stops.
  if (buffer.length > 0) yield finishEpisode(mapping.episode !== undefined);
}

/** First, last and terminal, as far as the rows tell it themselves. */
function flagsOf({ first, last, terminal, truncated, done }: Roles, rows: number): Uint8Array[] {
  const of = (is: (i: number) => boolean) => Uint8Array.from({ length: rows }, (_, i) => Number(is(i)));
  // What is done and was not cut ended by itself; where something says that an environment ended, `done` says no more.
  const isTerminal = (i: number) => (terminal !== undefined ? isSet(terminal, i) : isSet(done, i) && !isSet(truncated, i));
  return [of((i) => isSet(first, i)), of((i) => isSet(last, i)), of(isTerminal)];
}

/**
 * The steps of an episode. The last row keeps its action and reward. A reward that is not there is 0, a
 * discount 1, and 0 in the step that is terminal.
 */
function createSteps<S>({ leaves, stepSpec, mapping }: GenericSchema, data: readonly ColumnData[], isEnd: boolean): StepColumns<S> {
  const [first, last, terminal] = data.slice(leaves.length) as [Uint8Array, Uint8Array, Uint8Array];
  const { length } = first;
  if (mapping.first === undefined) first[0] = 1;
  if (mapping.last === undefined) last[length - 1] = Number(isEnd);
  const flags: { readonly [name: string]: ColumnData } = { is_first: first, is_last: last, is_terminal: terminal };
  const columns = leavesOf(stepSpec).map(({ path, keys, leaf, size }): ColumnData => {
    if (keys.length === 1 && flags[path] !== undefined) return flags[path];
    const leafIndex = leaves.findIndex((leaf) => leaf.keys.join("/") === path);
    if (leafIndex >= 0) return data[leafIndex] as ColumnData;
    return path === "discount" ? Float32Array.from(terminal, (is) => 1 - is) : zeros(leaf.dtype as "f32", size * length);
  });
  return new StepColumns<S>(stepSpec, columns, length);
}
