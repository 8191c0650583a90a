/**
 * Models a table according to Reverb's rules, with arrays and linear scans, independently of the core's code.
 *
 * - An item is inserted first. Then, while a limit is exceeded, the remover picks items to evict, possibly the new item.
 * - fifo picks the oldest item, and lifo the youngest. Heaps pick the least or greatest priority, and among equal priorities the least recently inserted or
 *   updated item.
 * - The limiter's cursor is inserts × samplesPerInsert - samples. Items that it blocks wait, and enter in order.
 */
import type { Among } from "../../src/batch/among.ts";
import type { RateLimiter } from "../../src/schema/rate-limiter.ts";
import { SELECTOR_KINDS, type Selector } from "../../src/schema/selector.ts";

export interface TwinItem {
  readonly key: number;
  /** The number of the first step. Steps of an item have consecutive numbers. */
  readonly first: number;
  readonly length: number;
  /** The distinct episodes of the item. */
  readonly episodes: readonly number[];
  priority: number;
  /** The time of the last insert or update. */
  touch: number;
  timesSampled: number;
}

export interface TwinOptions {
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly maxSize: number;
  readonly maxPending: number;
  /** 0 means no limit. */
  readonly maxTimesSampled: number;
  readonly maxSteps: number;
  readonly limiter: RateLimiter;
}

/** The items of a table in a range of ages. */
export interface TwinWindow {
  readonly k: number;
  readonly newest: boolean;
}

/** Returns the window of an option in a table of `size` items. */
export function windowOf(among: Among | undefined, size: number): TwinWindow | undefined {
  if (among === undefined) return undefined;
  if (typeof among === "number") return { k: among, newest: false };
  const value = among.newest ?? among.oldest;
  return { k: typeof value === "number" ? value : Math.max(1, Math.ceil(value.share * size)), newest: among.newest !== undefined };
}

/** Returns the items of a window in the order of insertion. */
export function within(items: readonly TwinItem[], window: TwinWindow | undefined): readonly TwinItem[] {
  if (window === undefined) return items;
  return window.newest ? items.slice(-window.k) : items.slice(0, window.k);
}

/** Returns whether draws from a window must be possible ("yes", "no"), or may be rejected after deletions. */
export function reaches({ newest }: TwinWindow, sampler: Selector, remover: Selector): "yes" | "no" | "maybe" {
  const isLinked = SELECTOR_KINDS[remover.kind].leaves !== undefined;
  switch (sampler.kind) {
    case "fifo":
    case "recency":
      return "yes";
    case "lifo":
      return newest ? "yes" : "no";
    case "prioritized":
      return isLinked ? "yes" : "no";
    case "uniform":
      return newest && isLinked ? "yes" : "maybe";
    default:
      return "no";
  }
}

export function isRandom({ kind }: Selector): boolean {
  return !SELECTOR_KINDS[kind].isDeterministic;
}

/** Returns the weight of a priority: 0 for priority 0, whatever the exponent. */
export function weightOf({ kind, exponent = 1 }: Selector, priority: number): number {
  if (!SELECTOR_KINDS[kind].weighs) return 1;
  return priority === 0 ? 0 : priority ** exponent;
}

export class TwinTable {
  /** The live items in the order of insertion. */
  readonly live: TwinItem[] = [];
  readonly pending: TwinItem[] = [];
  inserts = 0;
  samples = 0;
  unique = 0;
  deletedEpisodes = 0;
  readonly #options: TwinOptions;
  /** Returns whether the core no longer has the item. This reveals the choices of a random remover to the twin. */
  readonly #gone: (key: number) => boolean;
  #clock = 0;

  constructor(options: TwinOptions, gone: (key: number) => boolean) {
    this.#options = options;
    this.#gone = gone;
  }

  /** Returns a copy of the table's current state. */
  copy(): TwinTable {
    const copy = new TwinTable(this.#options, this.#gone);
    for (const list of ["live", "pending"] as const) copy[list].push(...this[list].map((item) => ({ ...item })));
    for (const count of ["inserts", "samples", "unique", "deletedEpisodes"] as const) copy[count] = this[count];
    copy.#clock = this.#clock;
    return copy;
  }

  get steps(): number {
    return this.live.reduce((sum, item) => sum + item.length, 0);
  }

  get episodes(): number {
    return new Set(this.live.flatMap((item) => item.episodes)).size;
  }

  canInsert(): boolean {
    const { minSize, samplesPerInsert, maxDiff } = this.#options.limiter;
    if (this.live.length + 1 <= minSize) return true;
    return (this.inserts + 1) * samplesPerInsert - this.samples <= maxDiff;
  }

  canSample(): boolean {
    const { minSize, samplesPerInsert, minDiff } = this.#options.limiter;
    if (this.live.length < minSize) return false;
    return this.inserts * samplesPerInsert - this.samples - 1 >= minDiff;
  }

  /** Returns "in", "waits", or "refused" if too many wait already. */
  insert(item: TwinItem): "in" | "waits" | "refused" {
    if (this.pending.length === 0 && this.canInsert()) {
      this.#admit(item);
      return "in";
    }
    if (this.pending.length >= this.#options.maxPending) return "refused";
    this.pending.push(item);
    return "waits";
  }

  /** Inserts waiting items. */
  settle(): void {
    while (this.pending.length > 0 && this.canInsert()) this.#admit(this.pending.shift() as TwinItem);
  }

  update(key: number, priority: number): boolean {
    const item = this.find(key);
    if (item !== undefined) {
      item.priority = priority;
      item.touch = ++this.#clock;
    }
    return item !== undefined;
  }

  delete(key: number): boolean {
    const item = this.find(key);
    if (item === undefined) return false;
    const at = this.pending.indexOf(item);
    if (at >= 0) this.pending.splice(at, 1);
    else this.#remove(item);
    return true;
  }

  clear(): void {
    this.live.length = 0;
    this.inserts = this.samples = this.unique = this.deletedEpisodes = 0;
    this.settle();
  }

  find(key: number): TwinItem | undefined {
    return this.live.find((item) => item.key === key) ?? this.pending.find((item) => item.key === key);
  }

  /** Counts a draw that was made earlier. Its item may have left since. */
  counted(key: number): void {
    const item = this.live.find((one) => one.key === key);
    if (item !== undefined) this.drawn(item);
    else this.samples++;
  }

  /** Counts a draw of the item. Removes the item and returns true if it has reached `maxTimesSampled`. */
  drawn(item: TwinItem): boolean {
    const { maxTimesSampled } = this.#options;
    this.samples++;
    item.timesSampled++;
    if (item.timesSampled === 1) this.unique++;
    const used = maxTimesSampled !== 0 && item.timesSampled >= maxTimesSampled;
    if (used) this.#remove(item);
    return used;
  }

  /** Reverts the counts of draws that were made ahead. */
  takeBack(items: readonly TwinItem[]): void {
    this.samples -= items.length;
    for (const item of items) {
      item.timesSampled--;
      if (item.timesSampled === 0) this.unique--;
    }
  }

  /** Counts a draw of the item that was made ahead. Returns how often the item has been drawn, or undefined if it is gone. */
  countAhead(key: number): number | undefined {
    const item = this.live.find((one) => one.key === key);
    if (item === undefined) this.samples++;
    else this.drawn(item);
    return item?.timesSampled;
  }

  /** Returns the item that a deterministic selector picks. */
  static pick({ kind }: Selector, items: readonly TwinItem[]): TwinItem {
    const before = (a: TwinItem, b: TwinItem): boolean => {
      if (a.priority === b.priority) return a.touch < b.touch;
      return kind === "minHeap" ? a.priority < b.priority : a.priority > b.priority;
    };
    if (kind === "fifo") return items[0] as TwinItem;
    if (kind === "lifo") return items[items.length - 1] as TwinItem;
    return items.reduce((best, item) => (before(item, best) ? item : best));
  }

  /** Returns the probability with which a random selector picks an item. `items` are in the order of insertion. */
  static share(selector: Selector, item: TwinItem, items: readonly TwinItem[], all = items): number {
    if (selector.kind === "recency") {
      // Ages are counted among all items, whichever of them can be drawn.
      const weight = (one: TwinItem) => (all.length - all.indexOf(one)) ** -(selector.exponent as number);
      return weight(item) / items.reduce((sum, one) => sum + weight(one), 0);
    }
    const total = items.reduce((sum, one) => sum + weightOf(selector, one.priority), 0);
    return total === 0 ? 1 / items.length : weightOf(selector, item.priority) / total;
  }

  /** Returns the probability with which a draw picks an item. */
  probability(item: TwinItem, window?: TwinWindow): number {
    const { sampler } = this.#options;
    const items = within(this.live, window);
    if (!items.includes(item)) return 0;
    if (!isRandom(sampler)) return TwinTable.pick(sampler, items) === item ? 1 : 0;
    return TwinTable.share(sampler, item, items, this.live);
  }

  #admit(item: TwinItem): void {
    const { maxSize, maxSteps } = this.#options;
    this.live.push(item);
    this.inserts++;
    item.touch = ++this.#clock;
    while (this.live.length > maxSize || this.steps > maxSteps) this.#remove(this.#victim());
  }

  #victim(): TwinItem {
    const { remover } = this.#options;
    if (!isRandom(remover)) return TwinTable.pick(remover, this.live);
    const weight = (item: TwinItem) => weightOf(remover, item.priority);
    // If several items left, those with weight are first, and the longest is last, because only the last one may reduce the steps below the limit.
    const left = this.live.filter((item) => this.#gone(item.key)).sort((a, b) => Number(weight(a) === 0) - Number(weight(b) === 0) || a.length - b.length);
    const [victim] = left;
    if (victim === undefined) throw new Error("the core keeps more than its limits allow");
    if (weight(victim) === 0 && this.live.some((item) => weight(item) > 0)) throw new Error("the remover drew an item of weight 0 beside others");
    return victim;
  }

  #remove(item: TwinItem): void {
    this.live.splice(this.live.indexOf(item), 1);
    for (const episode of item.episodes) if (!this.live.some((one) => one.episodes.includes(episode))) this.deletedEpisodes++;
  }
}
