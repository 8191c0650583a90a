/** A walk through the items of a table in the order of age, some at a time: the newest as they come, and stretches of what was there before. */
import { MOST_ROWS, Probe } from "../batch/inspect-table.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { EpisodeLog, type Rows } from "./episodes.ts";
import type { Episode } from "./survey.ts";

/** Items that are only looked at where a stretch begins: each lane shows which episode is open. */
const WARM_UP = 256;
/** A stretch ends after so many items, or with so many episodes. */
const STRETCH = 32768;
const FOUND = 4;
/** Of the past so many episodes are enough. */
const PAST = 256;
/** Where the newest items come faster than they are read, after so many looks some are left out. */
const LATE = 32;

export interface WalkOptions {
  readonly probe: Probe;
  readonly rows: Rows;
  readonly reward: PlacedLeaf | undefined;
  /** Steps of the longest item. */
  longest(): number;
  /** Episodes that writers go on with. */
  openEpisodes(): ReadonlySet<number>;
}

export class Walk {
  readonly #options: WalkOptions;
  readonly #log: EpisodeLog;
  /** The item that was read last, and whether nothing stands before it that was not read. */
  #key = 0;
  #late = 0;
  #past = 0;
  /** Of what was there before. */
  #stretch: { readonly log: EpisodeLog; key: number; read: number; found: number } | undefined;

  /** @param whole whether to begin with the oldest item, since there are few */
  constructor(options: WalkOptions, whole: boolean) {
    this.#options = options;
    this.#log = this.#logFrom(whole ? 0 : Math.max(0, ...options.openEpisodes()));
    if (whole) this.#past = PAST;
    else this.#key = this.#newestKey();
  }

  /** Of the newest item; 0 where it waits, or has left: only what is in the table has a place in its order. */
  #newestKey(): number {
    const { probe } = this.#options;
    const slot = probe.newest;
    return slot !== 0 && probe.isThere(slot) ? probe.keyOf(slot) : 0;
  }

  /** Reads up to so many of the newest items, and of the past half as many. @param anySlot of a live item, by chance; 0 where it found none */
  next(items: number, anySlot: () => number): readonly Episode[] {
    const { probe, openEpisodes } = this.#options;
    const before = this.#key === 0 ? 0 : probe.slotOf(this.#key);
    if (this.#key !== 0 && before === 0) {
      // It has left by now, and so may what came after it.
      this.#log.lose(Math.max(0, ...openEpisodes()));
      this.#key = this.#newestKey();
    } else {
      const { key, read } = this.#read(this.#log, before, items, items);
      this.#key = key || this.#key;
      this.#late = read < items ? 0 : this.#late + 1;
      if (this.#late === 0) this.#log.settle(openEpisodes());
      if (this.#late > LATE) {
        this.#late = 0;
        this.#log.lose(Math.max(0, ...openEpisodes()));
        this.#key = this.#newestKey() || this.#key;
      }
    }
    return [...this.#before(items >> 1, anySlot), ...this.#log.ended()];
  }

  /** A part of the past. */
  #before(items: number, anySlot: () => number): readonly Episode[] {
    if (this.#past >= PAST) return [];
    const { probe } = this.#options;
    const slot = this.#stretch === undefined ? anySlot() : probe.slotOf(this.#stretch.key);
    if (slot === 0) {
      this.#stretch = undefined;
      return [];
    }
    this.#stretch ??= { log: this.#logFrom(0), key: 0, read: 0, found: 0 };
    const stretch = this.#stretch;
    const { key, read } = this.#read(stretch.log, slot, items, items, stretch.read === 0 ? WARM_UP : 0);
    const found = stretch.log.ended();
    stretch.key = key;
    stretch.read += read;
    stretch.found += found.length;
    this.#past += found.length;
    if (read < items || stretch.read >= STRETCH || stretch.found >= FOUND) this.#stretch = undefined;
    return found;
  }

  #logFrom(newest: number): EpisodeLog {
    return new EpisodeLog(this.#options.rows, this.#options.reward !== undefined, newest);
  }

  /** Reads up to `most` items behind a slot into a log; the first `skipped` only to know which episodes are open. The key of the last one. */
  #read(log: EpisodeLog, behind: number, most: number, left: number, skipped = 0): { readonly key: number; readonly read: number } {
    const { probe } = this.#options;
    let slot = behind;
    let read = 0;
    while (left > 0) {
      const slots = probe.after(slot).subarray(0, left);
      if (slots.length === 0) break;
      this.#add(log, slots, Math.max(0, skipped - read));
      slot = slots[slots.length - 1] as number;
      read += slots.length;
      left = most - read;
    }
    return { key: slot === 0 ? 0 : probe.keyOf(slot), read };
  }

  #add(log: EpisodeLog, slots: Uint32Array, skipped: number): void {
    const { probe, reward } = this.#options;
    const longest = Math.max(1, this.#options.longest());
    const width = Math.min(longest, MOST_ROWS);
    const step = Probe.together(width);
    for (let from = 0; from < slots.length; from += step) {
      const some = slots.subarray(from, from + step);
      // Of long items there is one at a time, in pieces.
      for (let start = 0; start < longest; start += width) {
        const { rows, values } = probe.rows(some, start, width, reward);
        for (let i = 0; i < some.length; i++) {
          if (from + i < skipped) log.skip(rows, i * width, (i + 1) * width);
          else log.add(rows, i * width, (i + 1) * width, values, longest);
        }
      }
    }
  }
}
