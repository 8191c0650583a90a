/** Assembles whole episodes from the items of a table, which arrive in the order in which they were created. */
import { FINAL_TERMINATED, FINAL_TRUNCATED } from "../base/abi.ts";
import type { Episode } from "./protocol.ts";

/** What there is to tell of a row. */
export interface Rows {
  isLive(row: number): boolean;
  episodeOf(row: number): number;
  /** As `Engine.endOf` tells it. */
  endOf(row: number): number;
}

/** An episode that has not ended, as far as it was seen. */
interface OpenEpisode {
  readonly number: number;
  return: number;
  length: number;
  /** Its newest rows, in order: items overlap. */
  readonly recent: Set<number>;
  last: number;
}

/** The number of ended episodes to remember. */
const MAX_CLOSED = 1024;

export class EpisodeLog {
  readonly #rows: Rows;
  /** Those whose first step was seen. */
  readonly #open = new Map<number, OpenEpisode>();
  readonly #hasReward: boolean;
  /** Later episodes are seen from their start. */
  #lastPartial: number;
  /** The largest number so far. */
  #newest = 0;
  /** Numbers of the last that ended: items that overlap may still come. */
  readonly #closedEpisodes = new Set<number>();
  #endedEpisodes: Episode[] = [];

  /** @param lastPartial the last episode that may have started before the inspector */
  constructor(rows: Rows, hasReward: boolean, lastPartial: number) {
    this.#rows = rows;
    this.#hasReward = hasReward;
    this.#lastPartial = lastPartial;
  }

  /** An item is there whose episodes may have begun before. */
  skip(rows: ArrayLike<number>, from: number, to: number): void {
    for (let i = from; i < to && rows[i] !== 0; i++) this.#lastPartial = Math.max(this.#lastPartial, this.#rows.episodeOf(rows[i] as number));
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
        if (number <= this.#lastPartial || this.#closedEpisodes.has(number)) continue;
        this.#newest = Math.max(this.#newest, number);
        open = { number, return: 0, length: 0, recent: new Set(), last: 0 };
        this.#open.set(number, open);
      }
      this.#addRow(open, row, Number(values?.[i] ?? Number.NaN), longest);
    }
  }

  #addRow(open: OpenEpisode, row: number, reward: number, longest: number): void {
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
   * Everything was added that there is: episodes end whose newest row says so by now, and those that no writer goes on with, whose final step no item has.
   * @param openEpisodes the numbers of the episodes that writers continue
   */
  closeEnded(openEpisodes: ReadonlySet<number>): void {
    for (const open of this.#open.values()) {
      const { number, last } = open;
      const end = this.#rows.isLive(last) && this.#rows.episodeOf(last) === number ? this.#rows.endOf(last) : 0;
      if (end !== 0 || !openEpisodes.has(number)) this.#end(open, end);
    }
  }

  /** Episodes that ended since the last call. */
  takeEnded(): readonly Episode[] {
    const episodes = this.#endedEpisodes;
    this.#endedEpisodes = [];
    return episodes;
  }

  /** Forgets open episodes after missed items, since they may lack steps. */
  dropOpen(newest: number): void {
    this.#open.clear();
    this.#lastPartial = Math.max(this.#lastPartial, this.#newest, newest);
  }

  #end(open: OpenEpisode, end: number): void {
    this.#open.delete(open.number);
    this.#closedEpisodes.add(open.number);
    if (this.#closedEpisodes.size > MAX_CLOSED) this.#closedEpisodes.delete(this.#closedEpisodes.values().next().value as number);
    const ending = end === FINAL_TERMINATED ? "terminated" : end === FINAL_TRUNCATED ? "truncated" : "ended";
    this.#endedEpisodes.push({ number: open.number, return: this.#hasReward ? open.return : Number.NaN, length: open.length, end: ending });
  }
}
