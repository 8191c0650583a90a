/** Dealing the windows of items into batches: in order, or so that the rows of one batch come of different items. */
import { lengthOf, slice, stack } from "./items.ts";

/** One window and what is known of it, as a nest of columns; made only when it is dealt. */
type Row = () => unknown;

export class Deal {
  readonly #rows: number | undefined;
  readonly #hands: Row[][];
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

  /** Items that it lacks for the next batch, as far as that can be told: 0 where it has all. */
  get missing(): number {
    const each = (this.#rows ?? 1) / this.#hands.length;
    return this.#hands.reduce((sum, hand) => sum + Number(hand.length < each), 0);
  }

  /** One more item, as a nest of columns by step: its windows go to the hand that has fewest. A rest that is no window is lost. */
  give(item: unknown): void {
    const hand = this.#hands.reduce((least, one) => (one.length < least.length ? one : least));
    const steps = lengthOf(item);
    const n = this.#numSteps;
    if (n === undefined) hand.push(() => item);
    else for (let begin = 0; begin + n <= steps; begin += n) hand.push(() => slice(item, begin, begin + n));
  }

  /** The next batch, [rows, steps, …], or the next row, [steps, …]. */
  take(): unknown {
    const n = this.#rows ?? 1;
    const rows = Array.from({ length: n }, (_, i) => (this.#hands[i % this.#hands.length] as Row[]).shift()?.());
    return this.#rows === undefined ? rows[0] : stack(rows);
  }
}
