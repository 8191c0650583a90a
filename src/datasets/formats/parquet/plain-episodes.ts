/** Episodes of files of somebody else: rows, cut where an episode's number changes, or where a flag says so. */

import { zeros } from "../../../schema/dtype.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import type { ReadEpisode } from "../reader.ts";
import type { FileColumn } from "./columns.ts";
import { Cuts, on, type Roles, roleColumns, rolesOf, sameColumn } from "./cuts.ts";
import { EpisodeBuffer } from "./episode-buffer.ts";
import type { ParquetFile } from "./parquet-file.ts";
import type { PlainForm } from "./plain-form.ts";
import { bytesOf, columnOf } from "./table.ts";

export interface PlainOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** The row of the first file with which an episode begins, where it is not the first one of all. */
  readonly row?: number;
}

const BOOL: StepLeaf = { dtype: "bool", shape: [] };

/** @throws RldsError CORRUPT, UNSUPPORTED, INVALID_DATA for values that are missing */
export async function* plainEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  form: PlainForm,
  { maxBytes, signal, row = 0 }: PlainOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  const { mapping, leaves } = form;
  // Behind the file's own columns: whether the row is the first, last, terminal.
  const buffer = new EpisodeBuffer<unknown>([...leaves.map(({ leaf }) => leaf), BOOL, BOOL, BOOL] as StepSpec, maxBytes);
  const cuts = new Cuts(mapping);
  const ended = (isEnd: boolean): ReadEpisode<S> => ({ steps: plainSteps<S>(form, buffer.take().data, isEnd) });
  let before = row;
  for await (const file of files) {
    const columns = leaves.map(({ place, leaf }) => sameColumn(file, place, leaf));
    const wanted = [...columns, ...roleColumns(mapping).map(({ place }) => sameColumn(file, place))];
    for (const [group, rows] of file.groups.entries()) {
      signal?.throwIfAborted();
      if (before >= rows) {
        before -= rows;
        continue;
      }
      const read = await file.read(group, wanted);
      const own = leaves.map(({ leaf }, k) => columnOf(read[k] as never, leaf, rows, { file: file.name, column: columns[k] as FileColumn }));
      const roles = rolesOf(mapping, read.slice(leaves.length), rows, file.name);
      if (bytesOf([...own, ...Object.values(roles)]) > maxBytes)
        throw new RldsError("CORRUPT", `a row group has more than the ${maxBytes} bytes that maxBytes allows`, { file: file.name });
      const data = [...own, ...flagsOf(roles, rows)];
      let from = before;
      before = 0;
      for (const { to, isEnd } of cuts.of(roles, rows, from)) {
        buffer.push(data, from, to, file.name);
        from = to;
        yield ended(isEnd);
      }
      if (from < rows) buffer.push(data, from, rows, file.name);
    }
    before = 0;
    if (cuts.endsWithFile()) yield ended(true);
  }
  // Flags that never came: the data just stops.
  if (buffer.length > 0) yield ended(mapping.episode !== undefined);
}

/** First, last and terminal, as far as the rows tell it themselves. */
function flagsOf({ first, last, terminal, truncated, done }: Roles, rows: number): Uint8Array[] {
  const of = (is: (i: number) => boolean) => Uint8Array.from({ length: rows }, (_, i) => Number(is(i)));
  // What is done and was not cut ended by itself; where something says that an environment ended, `done` says no more.
  const isTerminal = (i: number) => (terminal !== undefined ? on(terminal, i) : on(done, i) && !on(truncated, i));
  return [of((i) => on(first, i)), of((i) => on(last, i)), of(isTerminal)];
}

/**
 * The steps of an episode. Files of transitions have no final observation: the last transition is the last step, and keeps its action and reward. A reward that is not there is 0, a
 * discount 1, and 0 in the step that is terminal.
 */
function plainSteps<S>({ leaves, stepSpec, mapping }: PlainForm, data: readonly ColumnData[], isEnd: boolean): StepColumns<S> {
  const [first, last, terminal] = data.slice(leaves.length) as [Uint8Array, Uint8Array, Uint8Array];
  const { length } = first;
  if (mapping.first === undefined) first[0] = 1;
  if (mapping.last === undefined) last[length - 1] = Number(isEnd);
  const flags: { readonly [name: string]: ColumnData } = { is_first: first, is_last: last, is_terminal: terminal };
  const columns = leavesOf(stepSpec).map(({ path, keys, leaf, size }): ColumnData => {
    if (keys.length === 1 && flags[path] !== undefined) return flags[path];
    const own = leaves.findIndex((one) => one.keys.join("/") === path);
    if (own >= 0) return data[own] as ColumnData;
    return path === "discount" ? Float32Array.from(terminal, (is) => 1 - is) : zeros(leaf.dtype as "f32", size * length);
  });
  return new StepColumns<S>(stepSpec, columns, length);
}
