/** Reads flat transitions, as in D4RL, which are consecutive rows with flags that mark the ends of episodes. */
import { mustBe } from "../../../base/error.ts";
import { blank } from "../../../schema/leaf.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, slicedColumn } from "../../model/step-columns.ts";
import { Column, type ColumnTree, columnsOf, copyColumn, rowSpec } from "./column.ts";
import { type EndedSteps, type Ending, episodeSteps, type TransitionSpec } from "./transitions.ts";

/** The parts of a flat table. */
export interface FlatTable {
  readonly file: string;
  readonly transition: { readonly observation: ColumnTree; readonly action: ColumnTree; readonly reward: ColumnTree; readonly [metadata: string]: ColumnTree };
  readonly terminals: Column;
  readonly timeouts?: Column;
  /** Whether `terminals` marks every end of an episode, as `done` does. In that case, the rows after the last marked end are an open episode. */
  readonly areEnds?: boolean;
  readonly nextObservation?: ColumnTree;
}

/**
 * The rule for the final step of an episode.
 * - `rlds`: follows the RLDS importer of D4RL. The final step is read from `next_observations` if they exist. Otherwise, an episode that terminated gets a
 * final step with an observation of zeros, so its last transition is not lost. A truncated episode gets no final step.
 * - `next`: reads the final step from `next_observations`, which must exist.
 * - `none`: adds no final step. The last transition is the last step.
 */
export type FinalObservation = "rlds" | "next" | "none";

const FINAL_OBSERVATIONS: readonly string[] = ["rlds", "next", "none"] satisfies FinalObservation[];

/** Checks the option `finalObservation`. @throws RangeError if the value is unknown */
export function checkFinalObservation(value: FinalObservation): void {
  if (!FINAL_OBSERVATIONS.includes(value)) throw mustBe(RangeError, "finalObservation", `one of ${FINAL_OBSERVATIONS.join(", ")}`, value, FINAL_OBSERVATIONS);
}

/** The options for reading a flat table. */
export interface FlatOptions {
  readonly finalObservation: FinalObservation;
  /** The number of steps after which an episode is truncated, if the file has no timeouts. */
  readonly maxEpisodeSteps?: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The first row and the number of steps of each episode. */
export interface FlatIndex {
  readonly rows: readonly number[];
  readonly lengths: readonly number[];
}

/** The number of rows per slice, unless a chunk has more rows or the rows exceed SLICE_BYTES. */
const SLICE_ROWS = 4096;
/** The maximum number of bytes per slice. */
const SLICE_BYTES = 2 ** 26;
/** The number of rows of flags that are read at a time, unless a chunk has more rows. */
const FLAG_ROWS = 2 ** 20;

/** Returns the number of rows, which must be the same for all columns. @throws RldsError CORRUPT if a column has no rows or another number of rows */
export function rowsOf(columns: readonly Column[], file: string): number {
  const [first] = columns;
  const mismatch = columns.find(({ rows }) => rows === undefined || rows !== first?.rows);
  if (mismatch !== undefined)
    throw corruptFile({ file }, `${mismatch.path} has ${mismatch.rows ?? "no"} rows, but ${first?.path} has ${first?.rows ?? "none"}`);
  return first?.rows ?? 0;
}

/** Returns a column that the file stores as [rows, 1] as a column of single values. Returns any other column unchanged. */
export function squeezeColumn(column: Column): Column {
  return column.leaf.shape.length === 1 && column.leaf.shape[0] === 1 ? new Column({ ...column, leaf: { ...column.leaf, shape: [] } }) : column;
}

/**
 * Yields the episodes of a table. Keeps at most one episode and one slice of rows in memory.
 * @param row the first row of an episode, from which to start
 * @throws RldsError CORRUPT if the columns have different numbers of rows, an episode takes more than maxBytes, or a column is damaged
 * @throws RldsError UNSUPPORTED if the file uses a feature that Reprise cannot read
 */
export async function* flatEpisodes(table: FlatTable, options: FlatOptions, row = 0): AsyncGenerator<EndedSteps, void, undefined> {
  const { file, transition: tree } = table;
  const transition = rowSpec(tree) as unknown as TransitionSpec;
  const leaves = leavesOf(transition);
  const columns = columnsOf(tree);
  const next = nextColumns(table.nextObservation, options);
  const rows = rowsOf([...columns, ...next, ...flagsOf(table)], file);
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 0);
  const slices = new Slices([...columns, ...next], rows);
  for await (const { from, to, ending } of flatRanges(table, options, row)) {
    if ((to - from) * rowBytes > options.maxBytes)
      throw corruptFile({ file }, `an episode takes more than the ${options.maxBytes} bytes that maxBytes allows. Increase maxBytes`);
    const finalStep = hasFinalStep(ending, next.length > 0, options);
    const steps = to - from + Number(finalStep);
    const data = leaves.map(({ leaf, size }) => blank(leaf, steps * size));
    for (let at = from; at < to; ) {
      options.signal?.throwIfAborted();
      if (to - at >= slices.height && !slices.has(at)) {
        // A slice that lies completely in this episode is read directly into the episode.
        const end = at + slices.height;
        for (const [k, { size }] of leaves.entries()) await readInto(columns[k] as Column, at, end, data[k] as ColumnData, (at - from) * size, size);
        at = end;
        continue;
      }
      const slice = await slices.at(at);
      const end = Math.min(slice.to, to);
      for (const [k, { leaf, size }] of leaves.entries()) copyColumn(leaf, data[k] as ColumnData, (at - from) * size, rowsIn(slice, k, at, end, size));
      at = end;
    }
    if (finalStep && next.length > 0) {
      const slice = await slices.at(to - 1);
      let k = columns.length;
      for (const [i, { leaf, keys, size }] of leaves.entries())
        if (keys[0] === "observation") copyColumn(leaf, data[i] as ColumnData, (steps - 1) * size, rowsIn(slice, k++, to - 1, to, size));
    }
    yield episodeSteps(transition, { data, length: to - from, finalStep, ending });
  }
}

/**
 * Returns the first row and the number of steps of each episode. Reads only the flags, and costs O(rows). @throws RldsError CORRUPT if the flags are damaged
 */
export async function flatIndex(table: FlatTable, options: FlatOptions): Promise<FlatIndex> {
  const hasNext = nextColumns(table.nextObservation, options).length > 0;
  const rows: number[] = [];
  const lengths: number[] = [];
  for await (const { from, to, ending } of flatRanges(table, options, 0)) {
    rows.push(from);
    lengths.push(to - from + Number(hasFinalStep(ending, hasNext, options)));
  }
  return { rows, lengths };
}

/** The rows of an episode, from `from` to `to` - 1. */
interface FlatRange {
  readonly from: number;
  readonly to: number;
  readonly ending: Ending;
}

async function* flatRanges(table: FlatTable, options: FlatOptions, row: number): AsyncGenerator<FlatRange, void, undefined> {
  const flags = flagsOf(table);
  const count = rowsOf(flags, table.file);
  const chunkRows = Math.max(...flags.map((column) => column.chunkRows));
  let height = Math.max(FLAG_ROWS, chunkRows);
  let begin = row;
  for (let from = row; from < count; ) {
    options.signal?.throwIfAborted();
    const to = Math.min(count, from + height);
    let block: ColumnData[];
    try {
      block = await readColumns(flags, from, to);
    } catch (error) {
      if (height <= Math.max(SLICE_ROWS, chunkRows)) throw error;
      // With smaller blocks, more of the episodes before the damaged flags can be yielded.
      height = Math.max(SLICE_ROWS, chunkRows);
      continue;
    }
    const [terminal, timeout] = block;
    for (const { end, ending } of findEpisodeEnds(terminal as ColumnData, timeout, from - begin, options)) {
      yield { from: begin, to: from + end, ending };
      begin = from + end;
    }
    from = to;
  }
  if (begin < count) yield { from: begin, to: count, ending: tailEnding(table.timeouts !== undefined || table.areEnds === true, options) };
}

function flagsOf({ terminals, timeouts }: FlatTable): Column[] {
  return timeouts === undefined ? [terminals] : [terminals, timeouts];
}

/**
 * Yields each end of an episode in a block of flags, as the number of rows from the beginning of the block.
 * @param openRows the number of rows before the block that belong to the episode that is still open
 */
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

/** Returns the ending of the episode with which the data stops. The episode is open, unless neither the file nor `maxEpisodeSteps` marks truncations. */
function tailEnding(marksCuts: boolean, { maxEpisodeSteps }: FlatOptions): Ending {
  return !marksCuts && maxEpisodeSteps === undefined ? "truncated" : "open";
}

function nextColumns(next: ColumnTree | undefined, { finalObservation }: FlatOptions): Column[] {
  return finalObservation === "none" || next === undefined ? [] : columnsOf(next);
}

function hasFinalStep(ending: Ending, hasNext: boolean, { finalObservation }: FlatOptions): boolean {
  return ending !== "open" && (hasNext || (finalObservation === "rlds" && ending === "terminated"));
}

/** The rows from `from` to `to` - 1 of several columns. */
interface Slice {
  readonly from: number;
  readonly to: number;
  readonly data: readonly ColumnData[];
}

/** Reads columns in slices of consecutive rows, so that a slice with several episodes is read only once. */
class Slices {
  readonly #columns: readonly Column[];
  readonly #rows: number;
  /** The number of rows per slice: at least SLICE_ROWS and the rows of the largest chunk, but at most as many rows as fit into SLICE_BYTES. */
  readonly height: number;
  #current: Slice = { from: 0, to: 0, data: [] };

  constructor(columns: readonly Column[], rows: number) {
    this.#columns = columns;
    this.#rows = rows;
    const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 1);
    const preferredRows = Math.max(SLICE_ROWS, ...columns.map(({ chunkRows }) => chunkRows));
    this.height = Math.max(1, Math.min(preferredRows, Math.floor(SLICE_BYTES / rowBytes)));
  }

  /** Returns whether the current slice contains a row. */
  has(row: number): boolean {
    return row >= this.#current.from && row < this.#current.to;
  }

  /** Returns the slice that begins with a row, or the current slice if it contains the row. */
  async at(row: number): Promise<Slice> {
    if (this.has(row)) return this.#current;
    const to = Math.min(this.#rows, row + this.height);
    this.#current = { from: row, to, data: await readColumns(this.#columns, row, to) };
    return this.#current;
  }
}

/** Returns the rows from `from` to `to` - 1 of column k of a slice. @param size the number of elements per row */
function rowsIn(slice: Slice, k: number, from: number, to: number, size: number): ColumnData {
  return slicedColumn(slice.data[k] as ColumnData, (from - slice.from) * size, (to - slice.from) * size);
}

/**
 * Reads rows into the data of an episode.
 * @param all the data of the whole episode for this column
 * @param at the index in `all` of the first element
 * @param size the number of elements per row
 */
async function readInto(column: Column, from: number, to: number, all: ColumnData, at: number, size: number): Promise<void> {
  const target = Array.isArray(all) ? undefined : slicedColumn(all, at, at + (to - from) * size);
  const data = await column.read(from, to, target);
  if (data !== target) copyColumn(column.leaf, all, at, data);
}

/** Reads columns one after the other, because a file allows only one read at a time. */
async function readColumns(columns: readonly Column[], from: number, to: number): Promise<ColumnData[]> {
  const data: ColumnData[] = [];
  for (const column of columns) data.push(await column.read(from, to));
  return data;
}
