/** Episodes of files of somebody else: rows, cut where an episode's number changes, or where a flag says so. */
import type { StepLeaf, StepSpec } from "../../rlds/dataset/dataset.ts";
import { leavesOf } from "../../rlds/dataset/leaves.ts";
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../rlds/dataset/step-columns.ts";
import { zeros } from "../../spec/dtype.ts";
import type { ReadEpisode } from "../reader.ts";
import type { FileColumn } from "./columns.ts";
import { EpisodeBuffer } from "./episode-buffer.ts";
import type { ParquetFile } from "./parquet-file.ts";
import type { PlainForm } from "./plain-form.ts";
import { bytesOf, columnOf } from "./table.ts";

export interface PlainOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

const BOOL: StepLeaf = { dtype: "bool", shape: [] };
const ROLES = ["episode", "first", "last", "terminal", "truncated", "done"] as const;

type Roles = { readonly [role in (typeof ROLES)[number]]?: ColumnData };

/** @throws RldsError CORRUPT, UNSUPPORTED, INVALID_DATA for values that are missing */
export async function* plainEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  form: PlainForm,
  { maxBytes, signal }: PlainOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  const { mapping, leaves } = form;
  // Behind the file's own columns: whether the row is the first, last, terminal.
  const buffer = new EpisodeBuffer<unknown>([...leaves.map(({ leaf }) => leaf), BOOL, BOOL, BOOL] as StepSpec, maxBytes);
  const flagged = ROLES.some((role) => role !== "episode" && role !== "first" && mapping[role] !== undefined);
  let before: unknown;
  const ended = (isEnd: boolean): ReadEpisode<S> => ({ steps: plainSteps<S>(form, buffer.take().data, isEnd) });
  for await (const file of files) {
    const wanted = [
      ...leaves.map(({ place, leaf }) => sameColumn(file, place, leaf)),
      ...ROLES.flatMap((role) => mapping[role] ?? []).map(({ place }) => sameColumn(file, place)),
    ];
    for (const [group, rows] of file.groups.entries()) {
      signal?.throwIfAborted();
      const read = await file.read(group, wanted);
      const all = wanted.map((column, k) =>
        columnOf(read[k] as never, leaves[k]?.leaf ?? ({ dtype: column.dtype, shape: [] } as StepLeaf), rows, { file: file.name, column }),
      );
      if (bytesOf(all) > maxBytes) throw new RldsError("CORRUPT", `a row group has more than the ${maxBytes} bytes that maxBytes allows`, { file: file.name });
      const roles = Object.fromEntries(ROLES.filter((role) => mapping[role] !== undefined).map((role, k) => [role, all[leaves.length + k]])) as Roles;
      for (const role of ROLES) checkThere(roles[role], mapping[role] as FileColumn, file.name);
      const data = [...all.slice(0, leaves.length), ...flagsOf(roles, rows)];
      let from = 0;
      for (let i = 0; i < rows; i++) {
        const isOther = roles.episode === undefined ? on(roles.first, i) : roles.episode[i] !== before;
        if (isOther && buffer.length + i - from > 0) {
          buffer.push(data, from, i, file.name);
          from = i;
          yield ended(roles.episode !== undefined);
        }
        before = roles.episode?.[i];
        if (roles.episode !== undefined || !(on(roles.last, i) || on(roles.terminal, i) || on(roles.truncated, i) || on(roles.done, i))) continue;
        buffer.push(data, from, i + 1, file.name);
        from = i + 1;
        yield ended(true);
      }
      if (from < rows) buffer.push(data, from, rows, file.name);
    }
    // Where nothing says what an episode is, a file is one.
    if (mapping.episode === undefined && mapping.first === undefined && !flagged && buffer.length > 0) yield ended(true);
  }
  // Flags that never came: the data just stops.
  if (buffer.length > 0) yield ended(mapping.episode !== undefined);
}

/** Nobody knows what a number or a flag is that is missing: as a float it is NaN. @throws RldsError INVALID_DATA */
function checkThere(values: ColumnData | undefined, column: FileColumn, file: string): void {
  if (!(values instanceof Float32Array || values instanceof Float64Array)) return;
  const row = values.findIndex((value) => Number.isNaN(value));
  if (row >= 0)
    throw new RldsError("INVALID_DATA", `column ${column.keys.join("/")} must have a value in every row, got none or NaN in row ${row} of a row group`, {
      file,
    });
}

function on(flags: ColumnData | undefined, i: number): boolean {
  return flags !== undefined && Number(flags[i]) !== 0;
}

function sameColumn(file: ParquetFile, place: string, leaf?: StepLeaf): FileColumn {
  const column = file.columns.find((one) => one.place === place);
  if (column === undefined || (leaf !== undefined && (column.dtype !== leaf.dtype || column.lists !== leaf.shape.length)))
    throw new RldsError(
      "SPEC_MISMATCH",
      `the file must have a column ${place} as the first one has it, got ${column === undefined ? "none" : `one of ${column.type}`}`,
      { file: file.name },
    );
  return column;
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
