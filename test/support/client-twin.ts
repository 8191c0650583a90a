/** Implements tables as described in Reverb's documents, using lists and loops. Samplers and removers are deterministic. */

export type Order = "fifo" | "lifo" | "minHeap" | "maxHeap";

export interface TwinTableOptions {
  readonly name: string;
  readonly maxSize: number;
  readonly sampler: Order;
  readonly remover: Order;
  /** 0 means no limit. */
  readonly maxTimesSampled: number;
  readonly samplesPerInsert: number;
  readonly minSize: number;
  readonly minDiff: number;
  readonly maxDiff: number;
}

export interface TwinItem {
  /** Any identifier that the test uses. */
  readonly id: number;
  readonly episode: number;
  /** Each column: its steps, or the single step of a squeezed column. */
  readonly columns: readonly (readonly unknown[])[];
  readonly squeezed: readonly boolean[];
  priority: number;
  times: number;
  /** The time of the last insert or update. Among equals, the older item is first. */
  stamp: number;
}

export interface TwinSample {
  readonly item: TwinItem;
  readonly info: { readonly id: number; readonly probability: 1; readonly tableSize: number; readonly priority: number; readonly timesSampled: number };
}

export class ClientTwin {
  readonly options: TwinTableOptions;
  /** The items, oldest first. */
  items: TwinItem[] = [];
  inserts = 0;
  samples = 0;
  /** The number of items that have left in any way. */
  deletes = 0;
  unique = 0;
  /** The number of times that the last item of an episode has left. */
  deletedEpisodes = 0;
  #clock = 0;

  constructor(options: TwinTableOptions) {
    this.options = options;
  }

  get size(): number {
    return this.items.length;
  }

  get episodes(): number {
    return new Set(this.items.map(({ episode }) => episode)).size;
  }

  canInsert(): boolean {
    const { minSize, samplesPerInsert, maxDiff } = this.options;
    return this.inserts + 1 - this.deletes <= minSize || (this.inserts + 1) * samplesPerInsert - this.samples <= maxDiff;
  }

  canSample(): boolean {
    const { minSize, samplesPerInsert, minDiff } = this.options;
    return this.size > 0 && this.inserts - this.deletes >= minSize && this.inserts * samplesPerInsert - this.samples - 1 >= minDiff;
  }

  insert(item: Omit<TwinItem, "times" | "stamp">): void {
    this.items.push({ ...item, times: 0, stamp: this.#clock++ });
    this.inserts++;
    if (this.size > this.options.maxSize) this.#drop(this.#chosen(this.options.remover));
  }

  /** Returns the next draw, or undefined if the limiter blocks it. */
  sample(): TwinSample | undefined {
    if (!this.canSample()) return undefined;
    const item = this.#chosen(this.options.sampler);
    const tableSize = this.size;
    item.times++;
    this.samples++;
    if (item.times === 1) this.unique++;
    const info = { id: item.id, probability: 1, tableSize, priority: item.priority, timesSampled: item.times } as const;
    if (item.times === this.options.maxTimesSampled) this.#drop(item);
    return { item, info };
  }

  update(id: number, priority: number): void {
    for (const item of this.items) if (item.id === id) Object.assign(item, { priority, stamp: this.#clock++ });
  }

  delete(id: number): void {
    for (const item of this.items.filter((one) => one.id === id)) this.#drop(item);
  }

  reset(): void {
    Object.assign(this, { items: [], inserts: 0, samples: 0, deletes: 0, unique: 0, deletedEpisodes: 0 });
  }

  #drop(item: TwinItem): void {
    this.items = this.items.filter((one) => one !== item);
    this.deletes++;
    if (!this.items.some(({ episode }) => episode === item.episode)) this.deletedEpisodes++;
  }

  #chosen(order: Order): TwinItem {
    if (order === "fifo") return this.items[0] as TwinItem;
    if (order === "lifo") return this.items.at(-1) as TwinItem;
    const sign = order === "minHeap" ? 1 : -1;
    return this.items.reduce((best, item) => {
      const by = sign * (item.priority - best.priority);
      return by < 0 || (by === 0 && item.stamp < best.stamp) ? item : best;
    });
  }
}

/**
 * Returns how many steps the columns of an item have, or undefined if the numbers differ.
 * @param squeezedToo whether the single step of a squeezed column counts
 */
export function twinSteps({ columns, squeezed }: TwinItem, squeezedToo: boolean): number | undefined {
  const lengths = columns.map((column, i) => (squeezed[i] && !squeezedToo ? undefined : column.length));
  return lengths.every((length) => length === lengths[0]) ? lengths[0] : undefined;
}
