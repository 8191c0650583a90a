/**
 * Tracks the items that were drawn ahead, until a loop receives their elements. An item counts as sampled when the
 * loop receives the first element that contains it.
 */
import type { Column } from "../../schema/column.ts";

export interface PrefetchedItem {
  readonly key: number;
  /** The item's position in the order of draws. */
  readonly order: number;
  /** The number of times that the item has been drawn. */
  times: number;
  isCounted: boolean;
}

/** Counts the items with these keys as sampled. @param times receives the number of times that each item has been drawn */
type Count = (keys: Float64Array, times: Uint32Array) => void;

export class PrefetchedItems {
  readonly #count: Count | undefined;
  /** The items of each element, one per row. undefined for an item that counted as sampled immediately. */
  readonly #rows = new WeakMap<object, readonly (PrefetchedItem | undefined)[]>();
  #drawCount = 0;

  constructor(count: Count | undefined) {
    this.#count = count;
  }

  /** Creates the record of an item that was just drawn. */
  create({ key, timesSampled }: { readonly key: unknown; readonly timesSampled: number }): PrefetchedItem {
    return { key: key as number, order: this.#drawCount++, times: timesSampled, isCounted: false };
  }

  /** Stores the items of an element, one per row. */
  set<E extends object>(element: E, rows: readonly (PrefetchedItem | undefined)[]): E {
    if (rows.some((item) => item !== undefined)) this.#rows.set(element, rows);
    return element;
  }

  /** Counts the items whose rows are in an element as sampled, except those already counted, and updates `timesSampled` in the element's info. */
  countElement(element: readonly [unknown, { readonly timesSampled: Column<"f64"> }]): void {
    const rows = this.#rows.get(element);
    if (rows === undefined) return;
    this.#rows.delete(element);
    const fresh = [...new Set(rows)].filter((item) => item !== undefined && !item.isCounted) as PrefetchedItem[];
    // If a key was drawn twice, its draws are counted in their order.
    fresh.sort((a, b) => a.order - b.order);
    const times = Uint32Array.from(fresh, (item) => item.times);
    const keys = Float64Array.from(fresh, (item) => item.key);
    if (fresh.length > 0) this.#count?.(keys, times);
    for (const [i, item] of fresh.entries()) {
      item.times = times[i] as number;
      item.isCounted = true;
    }
    const { data } = element[1].timesSampled;
    const windowSize = data.length / rows.length;
    for (const [i, item] of rows.entries()) if (item !== undefined) data.fill(item.times, i * windowSize, (i + 1) * windowSize);
  }
}
