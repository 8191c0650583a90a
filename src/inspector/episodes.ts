/** Whole episodes out of the items of a table, which come in the order in which they were made. */
import { FINAL_TERMINATED, FINAL_TRUNCATED } from "../core/abi.ts";
import type { Episode } from "./survey.ts";

/** What there is to tell of a row. */
export interface Rows {
  isLive(row: number): boolean;
  episodeOf(row: number): number;
  /** As `Engine.endOf` tells it. */
  endOf(row: number): number;
}

/** An episode that has not ended yet, as far as was seen. */
interface Open {
  readonly number: number;
  return: number;
  length: number;
  /** Its newest rows, in order: items overlap. */
  readonly recent: Set<number>;
  last: number;
}

export class EpisodeLog {
  readonly #rows: Rows;
  /** Those whose first step was seen, the one that a step joined last at the end. */
  readonly #open = new Map<number, Open>();
  readonly #hasReward: boolean;
  #newest: number;
  #ended: Episode[] = [];

  /** @param newest the last episode that may have begun before anyone looked: later ones are seen whole */
  constructor(rows: Rows, hasReward: boolean, newest: number) {
    this.#rows = rows;
    this.#hasReward = hasReward;
    this.#newest = newest;
  }

  /** An item is there whose episodes may have begun before. */
  skip(rows: ArrayLike<number>, from: number, to: number): void {
    for (let i = from; i < to && rows[i] !== 0; i++) this.#newest = Math.max(this.#newest, this.#rows.episodeOf(rows[i] as number));
  }

  /**
   * The next item: its rows stand from `from` to before `to`, or to the first 0.
   * @param values a number of each row, its reward, in the same places
   * @param longest steps that an item of the table has at most
   */
  add(rows: ArrayLike<number>, from: number, to: number, values: ArrayLike<number | bigint> | undefined, longest: number): void {
    for (let i = from; i < to && rows[i] !== 0; i++) {
      const row = rows[i] as number;
      const number = this.#rows.episodeOf(row);
      let open = this.#open.get(number);
      if (open?.recent.has(row)) continue;
      if (open === undefined) {
        if (number <= this.#newest) continue;
        this.#newest = number;
        open = { number, return: 0, length: 0, recent: new Set(), last: 0 };
      } else this.#open.delete(number);
      this.#open.set(number, open);
      this.#join(open, row, Number(values?.[i] ?? Number.NaN), longest);
    }
  }

  #join(open: Open, row: number, reward: number, longest: number): void {
    const end = this.#rows.endOf(row);
    open.last = row;
    open.recent.add(row);
    // No item reaches further back.
    if (open.recent.size > 2 * longest + 16) open.recent.delete(open.recent.values().next().value as number);
    // At a final step nothing was done.
    if (end !== FINAL_TRUNCATED && end !== FINAL_TERMINATED) {
      open.return += reward;
      open.length++;
    }
    if (end !== 0) this.#end(open, end);
  }

  /**
   * Everything was added that there is: episodes end whose newest row says so by now, and of those that nobody ends the ones that were left for others.
   * @param lanes episodes that may be open at a time
   */
  settle(lanes: number): void {
    for (const open of this.#open.values()) {
      const { number, last } = open;
      const end = this.#rows.isLive(last) && this.#rows.episodeOf(last) === number ? this.#rows.endOf(last) : 0;
      if (end !== 0) this.#end(open, end);
    }
    for (const open of this.#open.values()) {
      if (this.#open.size <= lanes) break;
      this.#end(open, 0);
    }
  }

  /** Episodes that ended since the last call. */
  ended(): readonly Episode[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** Items were missed: what is open may have lost steps. */
  lose(newest: number): void {
    this.#open.clear();
    this.#newest = Math.max(this.#newest, newest);
  }

  #end(open: Open, end: number): void {
    this.#open.delete(open.number);
    const how = end === FINAL_TERMINATED ? "terminated" : end === FINAL_TRUNCATED ? "truncated" : "ended";
    this.#ended.push({ number: open.number, return: this.#hasReward ? open.return : Number.NaN, length: open.length, end: how });
  }
}
