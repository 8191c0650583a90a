/** Assembles whole episodes from the items of a table. Items must be added in the order in which they were created. */
import { FINAL_TERMINATED, FINAL_TRUNCATED } from "../base/abi.ts";
import type { Episode } from "./protocol.ts";

/** Provides the data of rows. */
export interface Rows {
  isLive(row: number): boolean;
  episodeOf(row: number): number;
  /** Returns how the episode of a row ends with the row, as `Engine.endOf` does. */
  endOf(row: number): number;
}

/** The steps seen so far of an episode that has not ended. */
interface OpenEpisode {
  readonly number: number;
  return: number;
  length: number;
  /** The newest rows of the episode in order. They are needed because items overlap. */
  readonly recent: Set<number>;
  last: number;
}

/** The maximum number of ended episodes to remember. */
const MAX_CLOSED = 1024;

export class EpisodeLog {
  readonly #rows: Rows;
  /** The open episodes whose first step was seen. */
  readonly #open = new Map<number, OpenEpisode>();
  readonly #hasReward: boolean;
  /** The number of the last episode whose start may have been missed. */
  #lastPartial: number;
  /** The largest episode number so far. */
  #newest = 0;
  /** The numbers of the episodes that ended last. Further items that overlap these episodes may still be added. */
  readonly #closedEpisodes = new Set<number>();
  #endedEpisodes: Episode[] = [];

  /** @param lastPartial the last episode that may have started before the inspector */
  constructor(rows: Rows, hasReward: boolean, lastPartial: number) {
    this.#rows = rows;
    this.#hasReward = hasReward;
    this.#lastPartial = lastPartial;
  }

  /** Skips an item, and ignores its episodes from now on, since they may have begun earlier. */
  skip(rows: ArrayLike<number>, from: number, to: number): void {
    for (let i = from; i < to && rows[i] !== 0; i++) this.#lastPartial = Math.max(this.#lastPartial, this.#rows.episodeOf(rows[i] as number));
  }

  /**
   * Adds the next item. Its rows begin at index `from`, and end before index `to` or the first 0.
   * @param values the reward of each row, at the same indices
   * @param longest the maximum number of steps per item in the table
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
    // Older rows are dropped, because no further item contains them.
    if (open.recent.size > 2 * longest + 16) open.recent.delete(open.recent.values().next().value as number);
    // A final step has no action or reward.
    if (end !== FINAL_TRUNCATED && end !== FINAL_TERMINATED) {
      open.return += reward;
      open.length++;
    }
    if (end !== 0) this.#end(open, end);
  }

  /**
   * Closes episodes after all existing items were added: episodes whose newest row now marks the end, and episodes that no writer continues and whose final
   * step is not in an item.
   * @param openEpisodes the numbers of the episodes that writers continue
   */
  closeEnded(openEpisodes: ReadonlySet<number>): void {
    for (const open of this.#open.values()) {
      const { number, last } = open;
      const end = this.#rows.isLive(last) && this.#rows.episodeOf(last) === number ? this.#rows.endOf(last) : 0;
      if (end !== 0 || !openEpisodes.has(number)) this.#end(open, end);
    }
  }

  /** Returns the episodes that ended since the last call. */
  takeEnded(): readonly Episode[] {
    const episodes = this.#endedEpisodes;
    this.#endedEpisodes = [];
    return episodes;
  }

  /**
   * Drops the open episodes, because items were missed and the episodes may lack steps. @param newest the largest number of an episode that a writer continues;
   * episodes up to this number are ignored from now on
   */
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
