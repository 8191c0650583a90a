/** Distributes the windows of items over batches. */
import { lengthOf, slice, stack } from "../nest.ts";

/** A window of an item. */
interface Row<Of> {
  readonly of: Of;
  /** Creates the window and its info as a nest of columns, only when a batch takes it. */
  create(): unknown;
}

/** A batch as a nest, and the item that each of its rows is from. */
export interface WindowBatch<Of> {
  readonly nest: unknown;
  readonly of: readonly Of[];
}

/** In order, or so that the rows of one batch come of different items. */
export class BatchWindows<Of> {
  readonly #rows: number | undefined;
  readonly #queues: Row<Of>[][];
  readonly #numSteps: number | undefined;

  /**
   * @param rows of a batch; undefined for rows alone
   * @param numSteps of a window; undefined for whole items
   * @param isSeparate whether each row of a batch has items of its own
   */
  constructor(rows: number | undefined, numSteps: number | undefined, isSeparate: boolean) {
    this.#rows = rows;
    this.#numSteps = numSteps;
    this.#queues = Array.from({ length: isSeparate ? (rows ?? 1) : 1 }, () => []);
  }

  /** Items that it lacks for the next batch: as many as it surely needs, 0 where it has all. */
  get missing(): number {
    const rowsPerQueue = (this.#rows ?? 1) / this.#queues.length;
    let missing = 0;
    // How many windows an item will have is not known before it is there.
    for (const { length } of this.#queues) if (length < rowsPerQueue) missing += this.#numSteps === undefined ? rowsPerQueue - length : 1;
    return missing;
  }

  /** One more item, as a nest of columns by step: its windows go to the shortest queue. Returns their number. A rest shorter than a window is dropped. */
  add(item: unknown, of: Of): number {
    const queue = this.#queues.reduce((min, candidate) => (candidate.length < min.length ? candidate : min));
    const n = this.#numSteps;
    if (n === undefined) return queue.push({ of, create: () => item });
    const windows = Math.floor(lengthOf(item) / n);
    for (let i = 0; i < windows; i++) queue.push({ of, create: () => slice(item, i * n, (i + 1) * n) });
    return windows;
  }

  /** The next batch, [rows, steps, …], or the next row, [steps, …]. */
  take(): WindowBatch<Of> {
    const n = this.#rows ?? 1;
    const rows = Array.from({ length: n }, (_, i) => (this.#queues[i % this.#queues.length] as Row<Of>[]).shift() as Row<Of>);
    const nests = rows.map((row) => row.create());
    return { nest: this.#rows === undefined ? nests[0] : stack(nests), of: rows.map(({ of }) => of) };
  }
}
