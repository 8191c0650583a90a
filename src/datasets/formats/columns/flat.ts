/** Reads flat transitions in the form of D4RL: consecutive rows with flags that mark the ends of episodes. */
import { mustBe } from "../../../base/error.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column, type ColumnTree, columnsOf, joined, rowSpec } from "./column.ts";
import { type EndedSteps, type Ending, episodeSteps, type TransitionSpec } from "./transitions.ts";

/** The parts of a flat table. */
export interface FlatTable {
  readonly file: string;
  readonly transition: { readonly observation: ColumnTree; readonly action: ColumnTree; readonly reward: ColumnTree; readonly [metadata: string]: ColumnTree };
  readonly terminals: Column;
  readonly timeouts?: Column;
  /** Whether `terminals` mark every end of an episode, like `done`. The rows after the last end are then an open episode. */
  readonly areEnds?: boolean;
  readonly nextObservation?: ColumnTree;
}

/**
 * The rule for the final step of an episode.
 * - `rlds`: follows the RLDS importer of D4RL. The final step is read from `next_observations` if they exist. Otherwise, an episode that terminated gets a
 *   final step with an observation of zeros, so that its last transition is not lost. A truncated episode gets none.
 * - `next`: reads the final step from `next_observations`, which are required.
 * - `none`: adds no final step. The last transition is the last step.
 */
export type FinalObservation = "rlds" | "next" | "none";

const FINAL_OBSERVATIONS: readonly string[] = ["rlds", "next", "none"] satisfies FinalObservation[];

/** @throws RangeError */
export function checkFinalObservation(value: FinalObservation): void {
  if (!FINAL_OBSERVATIONS.includes(value)) throw mustBe(RangeError, "finalObservation", `one of ${FINAL_OBSERVATIONS.join(", ")}`, value, FINAL_OBSERVATIONS);
}

export interface FlatOptions {
  readonly finalObservation: FinalObservation;
  /** The number of steps after which an episode is truncated, if there are no timeouts. */
  readonly maxEpisodeSteps?: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The first row and the number of steps of each episode. */
export interface FlatIndex {
  readonly rows: readonly number[];
  readonly lengths: readonly number[];
}

const SLICE_ROWS = 4096;
const SLICE_BYTES = 2 ** 26;
const FLAG_ROWS = 2 ** 20;

/** Returns the number of rows, which must be the same for all columns. @throws RldsError CORRUPT */
export function rowsOf(columns: readonly Column[], file: string): number {
  const [first] = columns;
  const mismatch = columns.find(({ rows }) => rows === undefined || rows !== first?.rows);
  if (mismatch !== undefined) throw corruptFile({ file }, `${mismatch.path} has ${mismatch.rows ?? "no"} rows, ${first?.path} ${first?.rows ?? "none"}`);
  return first?.rows ?? 0;
}

/** Returns a column of single values that the file stores as [rows, 1]. */
export function squeezeColumn(column: Column): Column {
  return column.leaf.shape.length === 1 && column.leaf.shape[0] === 1 ? new Column({ ...column, leaf: { ...column.leaf, shape: [] } }) : column;
}

const NOTHING = new Uint8Array(0);

/**
 * Iterates over a table slice by slice, keeping at most one episode and one slice. @param row the first row of an episode @throws RldsError CORRUPT,
 * UNSUPPORTED
 */
export async function* flatEpisodes(
  { file, transition: tree, terminals, timeouts, areEnds, nextObservation }: FlatTable,
  options: FlatOptions,
  row = 0,
): AsyncGenerator<EndedSteps, void, undefined> {
  const { maxBytes, signal } = options;
  const transition = rowSpec(tree) as unknown as TransitionSpec;
  const leaves = leavesOf(transition);
  const columns = columnsOf(tree);
  const next = nextColumns(nextObservation, options);
  const flags = [terminals, timeouts].filter((column) => column !== undefined);
  const rows = rowsOf([...columns, ...next, ...flags], file);
  const height = sliceRows([...columns, ...next]);
  /** The slices and the number of rows of the current episode. */
  let chunks: ColumnData[][] = [];
  let length = 0;
  /** The next observation of the last row that was read. */
  let lastNext: ColumnData[] | undefined;
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 0);
  const finishEpisode = (ending: Ending, final?: ColumnData[]) => {
    const finalStep = hasFinalStep(ending, final !== undefined, options);
    const data = leaves.map(({ leaf }, k) => {
      const values = chunks.map((chunk) => chunk[k] as ColumnData);
      const observed = leaves.slice(0, k).filter(({ keys }) => keys[0] === "observation").length;
      const last = leaves[k]?.keys[0] === "observation" ? final?.[observed] : undefined;
      // Releases the pieces of a column before the next column is joined.
      for (const chunk of chunks) chunk[k] = NOTHING;
      return joined(leaf, last === undefined ? values : [...values, last], length + (last === undefined ? 0 : 1));
    });
    const steps = episodeSteps(transition, { data, length, finalStep, ending });
    chunks = [];
    length = 0;
    return steps;
  };
  for (let from = row; from < rows; from += height) {
    signal?.throwIfAborted();
    const to = Math.min(rows, from + height);
    const read = (list: readonly Column[]) => mapSequentially(list, (column) => column.read(from, to));
    const data = await read(columns);
    const nextData = await read(next);
    const [terminal, timeout] = await read(flags);
    let at = 0;
    for (const { end, ending } of findEpisodeEnds(terminal as ColumnData, timeout, length, options)) {
      chunks.push(sliceColumns(columns, data, at, end));
      length += end - at;
      at = end;
      yield finishEpisode(ending, next.length === 0 ? undefined : sliceColumns(next, nextData, end - 1, end));
    }
    if (at < to - from) chunks.push(sliceColumns(columns, data, at, to - from));
    length += to - from - at;
    if (next.length > 0) lastNext = sliceColumns(next, nextData, to - from - 1, to - from);
    if (length * rowBytes > maxBytes)
      throw corruptFile({ file }, `an episode goes on for more than the ${maxBytes} bytes that maxBytes allows: give a larger one`);
  }
  const ending = tailEnding(timeouts !== undefined || areEnds === true, options);
  if (length > 0) yield finishEpisode(ending, ending === "open" ? undefined : lastNext);
}

/** Finds the episodes, reading only their flags. O(rows) @throws RldsError */
export async function flatIndex({ file, terminals, timeouts, areEnds, nextObservation }: FlatTable, options: FlatOptions): Promise<FlatIndex> {
  const flags = [terminals, timeouts].filter((column) => column !== undefined);
  const count = rowsOf(flags, file);
  const hasNext = nextColumns(nextObservation, options).length > 0;
  const rows: number[] = [];
  const lengths: number[] = [];
  let begin = 0;
  const finishEpisode = (end: number, ending: Ending) => {
    rows.push(begin);
    lengths.push(end - begin + Number(hasFinalStep(ending, hasNext, options)));
    begin = end;
  };
  const height = Math.max(FLAG_ROWS, ...flags.map(({ chunkRows }) => chunkRows));
  for (let from = 0; from < count; from += height) {
    options.signal?.throwIfAborted();
    const [terminal, timeout] = await mapSequentially(flags, (column) => column.read(from, Math.min(count, from + height)));
    for (const { end, ending } of findEpisodeEnds(terminal as ColumnData, timeout, from - begin, options)) finishEpisode(from + end, ending);
  }
  if (begin < count) finishEpisode(count, tailEnding(timeouts !== undefined || areEnds === true, options));
  return { rows, lengths };
}

/** Finds the rows of a slice after which an episode ends. @param openRows the rows of the open episode before the slice */
function* findEpisodeEnds(
  terminal: ColumnData,
  timeout: ColumnData | undefined,
  openRows: number,
  { maxEpisodeSteps = Number.POSITIVE_INFINITY }: FlatOptions,
): Generator<{ readonly end: number; readonly ending: Ending }, void> {
  for (let i = 0, begin = -openRows; i < terminal.length; i++) {
    const isTerminated = Number(terminal[i]) !== 0;
    const isTruncated = timeout === undefined ? i + 1 - begin >= maxEpisodeSteps : Number(timeout[i]) !== 0;
    if (!isTerminated && !isTruncated) continue;
    begin = i + 1;
    yield { end: i + 1, ending: isTerminated ? "terminated" : "truncated" };
  }
}

/** Returns how the last episode ends with the data: it is open, unless nothing could mark a truncation. */
function tailEnding(marksCuts: boolean, { maxEpisodeSteps }: FlatOptions): Ending {
  return !marksCuts && maxEpisodeSteps === undefined ? "truncated" : "open";
}

function nextColumns(next: ColumnTree | undefined, { finalObservation }: FlatOptions): Column[] {
  return finalObservation === "none" || next === undefined ? [] : columnsOf(next);
}

function hasFinalStep(ending: Ending, hasNext: boolean, { finalObservation }: FlatOptions): boolean {
  return ending !== "open" && (hasNext || (finalObservation === "rlds" && ending === "terminated"));
}

/** Returns the number of rows to read together: whole chunks, if they are not too large. */
function sliceRows(columns: readonly Column[]): number {
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 1);
  const preferredRows = Math.max(SLICE_ROWS, ...columns.map(({ chunkRows }) => chunkRows));
  return Math.max(1, Math.min(preferredRows, Math.floor(SLICE_BYTES / rowBytes)));
}

function sliceColumns(columns: readonly Column[], data: readonly ColumnData[], from: number, to: number): ColumnData[] {
  return columns.map(({ leaf }, k) => {
    const size = leaf.shape.reduce((product, n) => product * n, 1);
    const all = data[k] as ColumnData;
    const range = Array.isArray(all) ? all.slice(from * size, to * size) : (all as Float32Array).subarray(from * size, to * size);
    return range as ColumnData;
  });
}

/** Maps a list sequentially, because a file allows one read at a time. */
async function mapSequentially<T, R>(list: readonly T[], of: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of list) results.push(await of(item));
  return results;
}
