/** Deals the windows of items into batches. */
import { lengthOf, slice, stack } from "../nest.ts";

/** A window of an item. */
interface Row<Of> {
  readonly of: Of;
  /** The window and what is known of it, as a nest of columns; made only when it is dealt. */
  made(): unknown;
}

/** What is dealt: a nest, and of which items its rows are. */
export interface Dealt<Of> {
  readonly nest: unknown;
  readonly of: readonly Of[];
}

/** In order, or so that the rows of one batch come of different items. */
export class Deal<Of> {
  readonly #rows: number | undefined;
  readonly #hands: Row<Of>[][];
  readonly #numSteps: number | undefined;

  /**
   * @param rows of a batch; undefined for rows alone
   * @param numSteps of a window; undefined for whole items
   * @param apart whether each row of a batch has items of its own
   */
  constructor(rows: number | undefined, numSteps: number | undefined, apart: boolean) {
    this.#rows = rows;
    this.#numSteps = numSteps;
    this.#hands = Array.from({ length: apart ? (rows ?? 1) : 1 }, () => []);
  }

  /** Items that it lacks for the next batch: as many as it surely needs, 0 where it has all. */
  get missing(): number {
    const each = (this.#rows ?? 1) / this.#hands.length;
    let missing = 0;
    // How many windows an item will have is not known before it is there.
    for (const { length } of this.#hands) if (length < each) missing += this.#numSteps === undefined ? each - length : 1;
    return missing;
  }

  /** One more item, as a nest of columns by step: its windows go to the hand that has fewest; how many they are. A rest that is no window is lost. */
  give(item: unknown, of: Of): number {
    const hand = this.#hands.reduce((min, one) => (one.length < min.length ? one : min));
    const n = this.#numSteps;
    if (n === undefined) return hand.push({ of, made: () => item });
    const windows = Math.floor(lengthOf(item) / n);
    for (let i = 0; i < windows; i++) hand.push({ of, made: () => slice(item, i * n, (i + 1) * n) });
    return windows;
  }

  /** The next batch, [rows, steps, …], or the next row, [steps, …]. */
  take(): Dealt<Of> {
    const n = this.#rows ?? 1;
    const rows = Array.from({ length: n }, (_, i) => (this.#hands[i % this.#hands.length] as Row<Of>[]).shift() as Row<Of>);
    const made = rows.map((row) => row.made());
    return { nest: this.#rows === undefined ? made[0] : stack(made), of: rows.map(({ of }) => of) };
  }
}
