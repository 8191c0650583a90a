/** Walks through the items of a table in the order of age, a few at a time: new items as they are inserted, and stretches of older items. */
import { MOST_ROWS, Probe } from "../batch/inspect-table.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { EpisodeLog, type Rows } from "./episodes.ts";
import type { Episode } from "./protocol.ts";

/** The number of items at the beginning of a stretch that only determine the open episode of each lane. */
const WARM_UP_ITEMS = 256;
/** The limits of a stretch: the number of items, and the number of whole episodes found. */
const STRETCH_ITEMS = 32768;
const STRETCH_EPISODES = 4;
/** The number of episodes found in older items after which no more older items are read. */
const MAX_PAST_EPISODES = 256;
/** The number of consecutive reads that may find more new items than they can read. After that, some new items are skipped. */
const MAX_LATE_READS = 32;

export interface ItemWalkOptions {
  readonly probe: Probe;
  readonly rows: Rows;
  readonly reward: PlacedLeaf | undefined;
  /** Returns the number of steps of the longest item. */
  longest(): number;
  /** Returns the episodes that writers continue. */
  openEpisodes(): ReadonlySet<number>;
}

export class ItemWalk {
  readonly #options: ItemWalkOptions;
  readonly #log: EpisodeLog;
  /** The key of the last new item read; 0 if there is none. */
  #key = 0;
  /** The number of consecutive reads that may not have reached the newest item. */
  #lateReads = 0;
  #pastEpisodes = 0;
  /** The current stretch of older items. */
  #stretch: { readonly log: EpisodeLog; key: number; read: number; found: number } | undefined;

  /** @param fromOldest whether to begin with the oldest item, because the table has few items */
  constructor(options: ItemWalkOptions, fromOldest: boolean) {
    this.#options = options;
    this.#log = this.#logFrom(fromOldest ? 0 : Math.max(0, ...options.openEpisodes()));
    if (fromOldest) this.#pastEpisodes = MAX_PAST_EPISODES;
    else this.#key = this.#newestKey();
  }

  /** Returns the key of the newest item; 0 if that item is pending or was evicted, since only items in the table have a place in the order of age. */
  #newestKey(): number {
    const { probe } = this.#options;
    const slot = probe.newest;
    return slot !== 0 && probe.isThere(slot) ? probe.keyOf(slot) : 0;
  }

  /**
   * Reads up to `items` new items and, until enough episodes were found in older items, half as many older items. Returns the episodes that were found.
   * @param anySlot returns the slot of a random live item; 0 if it found no item
   */
  next(items: number, anySlot: () => number): readonly Episode[] {
    const { probe, openEpisodes } = this.#options;
    const slot = this.#key === 0 ? 0 : probe.slotOf(this.#key);
    if (this.#key !== 0 && slot === 0) {
      // The item was evicted, and later items may also have been evicted.
      this.#log.dropOpen(Math.max(0, ...openEpisodes()));
      this.#key = this.#newestKey();
    } else {
      const { key, read } = this.#read(this.#log, slot, items, items);
      this.#key = key || this.#key;
      this.#lateReads = read < items ? 0 : this.#lateReads + 1;
      if (this.#lateReads === 0) this.#log.closeEnded(openEpisodes());
      if (this.#lateReads > MAX_LATE_READS) {
        this.#lateReads = 0;
        this.#log.dropOpen(Math.max(0, ...openEpisodes()));
        this.#key = this.#newestKey() || this.#key;
      }
    }
    return [...this.#readPast(items >> 1, anySlot), ...this.#log.takeEnded()];
  }

  /** Reads the next items of the current stretch of older items, or begins a stretch at a random item. */
  #readPast(items: number, anySlot: () => number): readonly Episode[] {
    if (this.#pastEpisodes >= MAX_PAST_EPISODES) return [];
    const { probe } = this.#options;
    const slot = this.#stretch === undefined ? anySlot() : probe.slotOf(this.#stretch.key);
    if (slot === 0) {
      this.#stretch = undefined;
      return [];
    }
    this.#stretch ??= { log: this.#logFrom(0), key: 0, read: 0, found: 0 };
    const stretch = this.#stretch;
    const { key, read } = this.#read(stretch.log, slot, items, items, stretch.read === 0 ? WARM_UP_ITEMS : 0);
    const found = stretch.log.takeEnded();
    stretch.key = key;
    stretch.read += read;
    stretch.found += found.length;
    this.#pastEpisodes += found.length;
    if (read < items || stretch.read >= STRETCH_ITEMS || stretch.found >= STRETCH_EPISODES) this.#stretch = undefined;
    return found;
  }

  #logFrom(newest: number): EpisodeLog {
    return new EpisodeLog(this.#options.rows, this.#options.reward !== undefined, newest);
  }

  /**
   * Reads up to `max` items after a slot into a log. The first `skip` items only determine the open episodes. Returns the key of the last item read, and the
   * number of items read.
   */
  #read(log: EpisodeLog, start: number, max: number, remaining: number, skip = 0): { readonly key: number; readonly read: number } {
    const { probe } = this.#options;
    let slot = start;
    let read = 0;
    while (remaining > 0) {
      const slots = probe.after(slot).subarray(0, remaining);
      if (slots.length === 0) break;
      this.#add(log, slots, Math.max(0, skip - read));
      slot = slots[slots.length - 1] as number;
      read += slots.length;
      remaining = max - read;
    }
    return { key: slot === 0 ? 0 : probe.keyOf(slot), read };
  }

  #add(log: EpisodeLog, slots: Uint32Array, skip: number): void {
    const { probe, reward } = this.#options;
    const longest = Math.max(1, this.#options.longest());
    const width = Math.min(longest, MOST_ROWS);
    const step = Probe.together(width);
    for (let from = 0; from < slots.length; from += step) {
      const group = slots.subarray(from, from + step);
      // Long items are read one at a time, in pieces.
      for (let start = 0; start < longest; start += width) {
        const { rows, values } = probe.rows(group, start, width, reward);
        for (let i = 0; i < group.length; i++) {
          if (from + i < skip) log.skip(rows, i * width, (i + 1) * width);
          else log.add(rows, i * width, (i + 1) * width, values, longest);
        }
      }
    }
  }
}
