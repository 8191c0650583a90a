/** Flat transitions, as D4RL keeps them: all rows one behind the other, with flags that say where an episode stops. */
import type { RldsStep } from "../../rlds/dataset/dataset.ts";
import { leavesOf } from "../../rlds/dataset/leaves.ts";
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import type { ColumnData, StepColumns } from "../../rlds/dataset/step-columns.ts";
import { Column, type ColumnTree, columnsOf, joined, rowSpec } from "./column.ts";
import { type Ending, episodeSteps, type TransitionSpec } from "./transitions.ts";

/** What a flat table consists of. */
export interface FlatTable {
  readonly file: string;
  readonly transition: { readonly observation: ColumnTree; readonly action: ColumnTree; readonly reward: ColumnTree; readonly [metadata: string]: ColumnTree };
  readonly terminals: Column;
  readonly timeouts?: Column;
  readonly nextObservation?: ColumnTree;
}

/**
 * What the final step of an episode is. `rlds`: as RLDS's own importer of D4RL has it: of `next_observations` where they are there; else one with an observation of zeros where the
 * environment terminated, so that the last transition is not lost, and none where the episode was cut. `next`: of `next_observations`, which must be there. `none`: never one; the last
 * transition is the last step.
 */
export type FinalObservation = "rlds" | "next" | "none";

export interface FlatOptions {
  readonly finalObservation: FinalObservation;
  /** Where there are no timeouts: after so many steps an episode is cut. */
  readonly maxEpisodeSteps?: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

const SLICE_ROWS = 4096;
const SLICE_BYTES = 2 ** 26;

/** Rows of all columns; every one must have as many. @throws RldsError CORRUPT */
export function rowsOf(columns: readonly Column[], file: string): number {
  const [first] = columns;
  const odd = columns.find(({ rows }) => rows === undefined || rows !== first?.rows);
  if (odd !== undefined) throw new RldsError("CORRUPT", `${odd.path} has ${odd.rows ?? "no"} rows, ${first?.path} ${first?.rows ?? "none"}`, { file });
  return first?.rows ?? 0;
}

/** A column of single values that the file keeps as [rows, 1]. */
export function squeezed(column: Column): Column {
  return column.leaf.shape.length === 1 && column.leaf.shape[0] === 1 ? new Column({ ...column, leaf: { ...column.leaf, shape: [] } }) : column;
}

/** Goes through a table slice by slice, and keeps no more than one episode and one slice. @throws RldsError CORRUPT, UNSUPPORTED */
export async function* flatEpisodes(
  { file, transition: tree, terminals, timeouts, nextObservation }: FlatTable,
  options: FlatOptions,
): AsyncGenerator<StepColumns<RldsStep>, void, undefined> {
  const { finalObservation, maxEpisodeSteps = Number.POSITIVE_INFINITY, maxBytes, signal } = options;
  const transition = rowSpec(tree) as unknown as TransitionSpec;
  const leaves = leavesOf(transition);
  const columns = columnsOf(tree);
  const next = finalObservation === "none" || nextObservation === undefined ? [] : columnsOf(nextObservation);
  const flags = [terminals, timeouts].filter((column) => column !== undefined);
  const rows = rowsOf([...columns, ...next, ...flags], file);
  const height = sliceRows([...columns, ...next]);
  /** Slices of the episode that has begun, and its rows. */
  let pieces: ColumnData[][] = [];
  let length = 0;
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 0);
  const ended = (ending: Ending, final?: ColumnData[]) => {
    const finalStep = ending !== "open" && (final !== undefined || (finalObservation === "rlds" && ending === "terminated"));
    const data = leaves.map(({ leaf }, k) => {
      const own = pieces.map((piece) => piece[k] as ColumnData);
      const observed = leaves.slice(0, k).filter(({ keys }) => keys[0] === "observation").length;
      const last = leaves[k]?.keys[0] === "observation" ? final?.[observed] : undefined;
      return joined(leaf, last === undefined ? own : [...own, last], length + (last === undefined ? 0 : 1));
    });
    const steps = episodeSteps(transition, { data, length, finalStep, ending });
    pieces = [];
    length = 0;
    return steps;
  };
  for (let from = 0; from < rows; from += height) {
    signal?.throwIfAborted();
    const to = Math.min(rows, from + height);
    const read = (list: readonly Column[]) => inTurn(list, (column) => column.read(from, to));
    const data = await read(columns);
    const nextData = await read(next);
    const [terminal, timeout] = await read(flags);
    let at = 0;
    for (let i = 0; i < to - from; i++) {
      const over = Number((terminal as ColumnData)[i]) !== 0;
      const cut = timeout === undefined ? length + i + 1 - at >= maxEpisodeSteps : Number(timeout[i]) !== 0;
      if (!over && !cut) continue;
      pieces.push(part(columns, data, at, i + 1));
      length += i + 1 - at;
      at = i + 1;
      yield ended(over ? "terminated" : "truncated", next.length === 0 ? undefined : part(next, nextData, i, i + 1));
    }
    if (at < to - from) pieces.push(part(columns, data, at, to - from));
    length += to - from - at;
    if (length * rowBytes > maxBytes) throw new RldsError("CORRUPT", `an episode goes on for more than the ${maxBytes} bytes that maxBytes allows`, { file });
  }
  // The data ends in the middle of an episode: so does this one.
  if (length > 0) yield ended("open");
}

/** Rows to read at once: whole chunks, where they are not too large. */
function sliceRows(columns: readonly Column[]): number {
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 1);
  const wanted = Math.max(SLICE_ROWS, ...columns.map(({ chunkRows }) => chunkRows));
  return Math.max(1, Math.min(wanted, Math.floor(SLICE_BYTES / rowBytes)));
}

function part(columns: readonly Column[], data: readonly ColumnData[], from: number, to: number): ColumnData[] {
  return columns.map(({ leaf }, k) => {
    const size = leaf.shape.reduce((product, n) => product * n, 1);
    const all = data[k] as ColumnData;
    const cut = Array.isArray(all) ? all.slice(from * size, to * size) : (all as Float32Array).subarray(from * size, to * size);
    return cut as ColumnData;
  });
}

/** One after the other: a file is read by one at a time. */
async function inTurn<T, R>(list: readonly T[], of: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const one of list) results.push(await of(one));
  return results;
}
