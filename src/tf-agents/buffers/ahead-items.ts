/** Items that were drawn before a loop gets an element with them: each counts with the first such element. */
import type { Column } from "../../schema/column.ts";

export interface AheadItem {
  readonly key: number;
  /** How many were drawn before it. */
  readonly place: number;
  /** How often it has been drawn. */
  times: number;
  isCounted: boolean;
}

/** Counts items by their keys. @param times becomes how often each has been drawn */
type Count = (keys: Float64Array, times: Uint32Array) => void;

export class AheadItems {
  readonly #count: Count | undefined;
  /** The items of an element, row by row; undefined for one that has counted from the beginning. */
  readonly #rows = new WeakMap<object, readonly (AheadItem | undefined)[]>();
  #drawn = 0;

  constructor(count: Count | undefined) {
    this.#count = count;
  }

  /** One that was just drawn. */
  one({ key, timesSampled }: { readonly key: unknown; readonly timesSampled: number }): AheadItem {
    return { key: key as number, place: this.#drawn++, times: timesSampled, isCounted: false };
  }

  /** Notes which items an element has, one a row. */
  note<E extends object>(element: E, rows: readonly (AheadItem | undefined)[]): E {
    if (rows.some((item) => item !== undefined)) this.#rows.set(element, rows);
    return element;
  }

  /** Counts the items of an element, and shows how often each has been drawn. */
  passed(element: readonly [unknown, { readonly timesSampled: Column<"f64"> }]): void {
    const rows = this.#rows.get(element);
    if (rows === undefined) return;
    this.#rows.delete(element);
    const fresh = [...new Set(rows)].filter((item) => item !== undefined && !item.isCounted) as AheadItem[];
    // A key that was drawn twice has its counts in the order of its draws.
    fresh.sort((a, b) => a.place - b.place);
    const times = Uint32Array.from(fresh, (item) => item.times);
    if (fresh.length > 0)
      this.#count?.(
        Float64Array.from(fresh, (item) => item.key),
        times,
      );
    for (const [i, item] of fresh.entries()) {
      item.times = times[i] as number;
      item.isCounted = true;
    }
    const { data } = element[1].timesSampled;
    const each = data.length / rows.length;
    for (const [i, item] of rows.entries()) if (item !== undefined) data.fill(item.times, i * each, (i + 1) * each);
  }
}
