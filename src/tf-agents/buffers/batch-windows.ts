/** Distributes the windows of items over batches. */
import { lengthOf, slice, stack } from "../nest.ts";

/** A window of the item `of`. */
interface Row<Of> {
  readonly of: Of;
  /** Creates the window and its info as a nest of columns. Called only when a batch takes the window. */
  create(): unknown;
}

/** A batch as a nest. `of` lists the item that each row comes from. */
export interface WindowBatch<Of> {
  readonly nest: unknown;
  readonly of: readonly Of[];
}

/** Distributes windows over batches, either in order or with the rows of each batch from different items. */
export class BatchWindows<Of> {
  readonly #rows: number | undefined;
  readonly #queues: Row<Of>[][];
  readonly #numSteps: number | undefined;

  /**
   * @param rows the number of rows per batch; undefined if each element is a single row
   * @param numSteps the number of steps per window; undefined for whole items
   * @param isSeparate whether the rows of a batch come from different items
   */
  constructor(rows: number | undefined, numSteps: number | undefined, isSeparate: boolean) {
    this.#rows = rows;
    this.#numSteps = numSteps;
    this.#queues = Array.from({ length: isSeparate ? (rows ?? 1) : 1 }, () => []);
  }

  /** The minimum number of items that the next batch still needs; 0 if the batch is complete. */
  get missing(): number {
    const rowsPerQueue = (this.#rows ?? 1) / this.#queues.length;
    let missing = 0;
    // An item may contain several windows. Their number is unknown until the item arrives, so only one more item is requested.
    for (const { length } of this.#queues) if (length < rowsPerQueue) missing += this.#numSteps === undefined ? rowsPerQueue - length : 1;
    return missing;
  }

  /**
   * Adds an item, as a nest of columns with a leading time dimension. Its windows go to the shortest queue. A remainder shorter than a window is dropped.
   * Returns the number of windows.
   */
  add(item: unknown, of: Of): number {
    const queue = this.#queues.reduce((min, candidate) => (candidate.length < min.length ? candidate : min));
    const n = this.#numSteps;
    if (n === undefined) return queue.push({ of, create: () => item });
    const windows = Math.floor(lengthOf(item) / n);
    for (let i = 0; i < windows; i++) queue.push({ of, create: () => slice(item, i * n, (i + 1) * n) });
    return windows;
  }

  /** Returns the next batch, [rows, steps, …], or the next row, [steps, …]. */
  take(): WindowBatch<Of> {
    const n = this.#rows ?? 1;
    const rows = Array.from({ length: n }, (_, i) => (this.#queues[i % this.#queues.length] as Row<Of>[]).shift() as Row<Of>);
    const nests = rows.map((row) => row.create());
    return { nest: this.#rows === undefined ? nests[0] : stack(nests), of: rows.map(({ of }) => of) };
  }
}
