/** Reads the episodes of generic files. Each change of the episode number, or each flag, separates two episodes. */

import { zeros } from "../../../schema/dtype.ts";
import { blank } from "../../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import type { Damage } from "../damage.ts";
import type { ReadEpisode } from "../reader.ts";
import type { FileColumn } from "./columns.ts";
import { EpisodeBoundaries, endsWithData, isSet, type Roles, roleColumns, rolesOf, sameColumn } from "./episode-boundaries.ts";
import { EpisodeBuffer } from "./episode-buffer.ts";
import { finalRowOf } from "./final-row.ts";
import type { GenericSchema } from "./generic-schema.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { bytesOf, columnOf, joined, slice } from "./table.ts";

export interface GenericReadOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** The row of the first file at which to start, where an episode must begin. Default: the first row. */
  readonly row?: number;
  /** Receives the parts that cannot be read. Undefined if they are errors. */
  readonly losses?: Damage | undefined;
}

const BOOL: StepLeaf = { dtype: "bool", shape: [] };

/** Yields the episodes. @throws RldsError CORRUPT if a file is damaged · UNSUPPORTED if lists differ in length · INVALID_DATA if a value is missing */
export async function* readGenericEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  schema: GenericSchema,
  { maxBytes, signal, row = 0, losses }: GenericReadOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  const { mapping, leaves } = schema;
  // The file's columns are followed by the flags first, last and terminal of each row.
  const buffer = new EpisodeBuffer<unknown>([...leaves.map(({ leaf }) => leaf), BOOL, BOOL, BOOL] as StepSpec, maxBytes);
  const boundaries = new EpisodeBoundaries(mapping);
  const hasRldsFlags = (mapping.first ?? mapping.last) !== undefined;
  const finishEpisode = (isEnd: boolean): ReadEpisode<S> => {
    return createEpisode<S>(schema, buffer.take().data, isEnd, hasRldsFlags);
  };
  let skippedRows = row;
  for await (const file of files) {
    const columns = leaves.map(({ path, leaf }) => sameColumn(file, path, leaf));
    const readColumns = [...columns, ...roleColumns(mapping).map(({ path }) => sameColumn(file, path))];
    let following = file.rows;
    for (const [group, rows] of file.groups.entries()) {
      signal?.throwIfAborted();
      following -= rows;
      if (skippedRows >= rows) {
        skippedRows -= rows;
        continue;
      }
      const chunk = await readGroup(schema, file, group, { maxBytes, columns: readColumns, losses });
      if (chunk === undefined) {
        // The rows before the damage form an episode without an end.
        if (buffer.length > 0) yield finishEpisode(false);
        boundaries.cut();
        skippedRows = 0;
        continue;
      }
      const { data, roles } = chunk;
      let from = skippedRows;
      skippedRows = 0;
      for (const { to, isEnd } of boundaries.of(roles, rows, from)) {
        buffer.push(data, from, to, file.name);
        from = to;
        yield finishEpisode(isEnd);
      }
      if (from < rows) buffer.push(data, from, rows, file.name, following);
    }
    skippedRows = 0;
    if (boundaries.endsWithFile()) yield finishEpisode(true);
  }
  // The data ended without a flag.
  if (buffer.length > 0) yield finishEpisode(endsWithData(mapping));
}

interface GroupOptions {
  readonly maxBytes: number;
  /** The columns of the leaves, followed by the columns that have a role. */
  readonly columns: readonly FileColumn[];
  readonly losses: Damage | undefined;
}

/**
 * Reads a row group. Returns its leaves, followed by the flags first, last and terminal of each row. Returns undefined if the group is a loss.
 * @throws RldsError if the row group cannot be read and `losses` is undefined
 */
export async function readGroup(
  { mapping, leaves }: GenericSchema,
  file: ParquetFile,
  group: number,
  { maxBytes, columns, losses }: GroupOptions,
): Promise<{ readonly data: readonly ColumnData[]; readonly roles: Roles } | undefined> {
  const rows = file.groups[group] as number;
  try {
    const read = await file.read(group, columns);
    const leafColumns = leaves.map(({ leaf }, k) => columnOf(read[k] as never, leaf, rows, { file: file.name, column: columns[k] as FileColumn }));
    const roles = rolesOf(mapping, read.slice(leaves.length), rows, file.name);
    if (bytesOf([...leafColumns, ...Object.values(roles)]) > maxBytes)
      throw corruptFile({ file: file.name }, `a row group takes more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
    return { data: [...leafColumns, ...flagsOf(roles, rows)], roles };
  } catch (error) {
    if (losses === undefined) throw error;
    losses.add(error);
    return undefined;
  }
}

/** Returns the flags first, last and terminal of each row, derived from the columns that have a role. */
function flagsOf({ first, last, terminal, truncated, done }: Roles, rows: number): Uint8Array[] {
  const of = (is: (i: number) => boolean) => Uint8Array.from({ length: rows }, (_, i) => Number(is(i)));
  // An episode that is done but not truncated has terminated. If another column marks terminations, `done` adds no information.
  const isTerminal = (i: number) => (terminal !== undefined ? isSet(terminal, i) : isSet(done, i) && !isSet(truncated, i));
  return [of((i) => isSet(first, i)), of((i) => isSet(last, i)), of(isTerminal)];
}

/**
 * Creates an episode from rows. The last row keeps its action and reward. If the rows have next observations, the final observation is added after it. A
 * missing reward is 0. A missing discount is 1, or 0 in a terminal step.
 */
export function createEpisode<S>(schema: GenericSchema, data: readonly ColumnData[], isEnd: boolean, hasRldsFlags: boolean): ReadEpisode<S> {
  const { leaves, stepSpec, mapping, hasNext } = schema;
  const [first, last, terminal] = data.slice(leaves.length) as [Uint8Array, Uint8Array, Uint8Array];
  const { length } = first;
  if (mapping.first === undefined) first[0] = 1;
  if (mapping.last === undefined) last[length - 1] = Number(isEnd);
  const flags: { readonly [name: string]: Uint8Array } = { is_first: first, is_last: last, is_terminal: terminal };
  const indexOf = (path: string) => leaves.findIndex(({ keys }) => keys.join("/") === path);
  const hasFinal = hasNext && isEnd;
  const columns = leavesOf(stepSpec).map(({ path, keys, leaf, size }): ColumnData => {
    const found = keys.length === 1 && flags[path] !== undefined ? -1 : indexOf(path);
    if (found >= 0) {
      const column = data[found] as ColumnData;
      if (!hasFinal) return column;
      const next = keys[0] === "observation" ? data[indexOf(["next_observation", ...keys.slice(1)].join("/"))] : undefined;
      return joined(leaf, [column, next === undefined ? blank(leaf, size) : slice(next, size, length - 1, length)]);
    }
    if (path === "discount")
      return withZero(
        Float32Array.from(terminal, (is) => 1 - is),
        hasFinal,
      );
    return flags[path] === undefined ? zeros(leaf.dtype as "f32", size * (length + Number(hasFinal))) : withFinalFlag(path, flags[path], hasFinal);
  });
  const steps = new StepColumns<S>(stepSpec, columns, length + Number(hasFinal));
  return { steps, [FINAL_STEP]: hasFinal ? "observation" : finalRowOf(steps, hasRldsFlags) };
}

function withZero(column: Float32Array, isLonger: boolean): Float32Array {
  if (!isLonger) return column;
  const longer = new Float32Array(column.length + 1);
  longer.set(column);
  return longer;
}

/** Moves is_last and is_terminal from the last action to the final observation. */
function withFinalFlag(path: string, flags: Uint8Array, hasFinal: boolean): Uint8Array {
  if (!hasFinal) return flags;
  const longer = new Uint8Array(flags.length + 1);
  longer.set(flags);
  if (path === "is_first") return longer;
  longer[flags.length] = flags[flags.length - 1] as number;
  longer[flags.length - 1] = 0;
  return longer;
}
