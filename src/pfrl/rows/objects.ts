/** What rows cannot hold, kept in JavaScript by the name of the row. */
import { copyObject } from "./object-value.ts";
import type { RowValues } from "./part.ts";

/** How many rows are looked at for each step: what is there no longer is at most as much again as what is. */
const LOOKS = 2;

export class Objects {
  readonly #records = new Map<number, RowValues>();
  #sweep = this.#records.entries();

  get size(): number {
    return this.#records.size;
  }

  /** Of a row that holds. */
  get(row: number): RowValues | undefined {
    return this.#records.get(row);
  }

  /** The same, to be given out: a caller may do with it as he likes. */
  copy(row: number): RowValues | undefined {
    return this.#records.get(row)?.map((value) => copyObject(value));
  }

  /** A step took this row; and what rows held that are free by now goes, a few at a time. */
  took(row: number, record: RowValues | undefined, live: (row: number) => number): void {
    if (record !== undefined) this.#records.set(row, record);
    else if (this.#records.size > 0) this.#records.delete(row);
    for (let i = 0; i < LOOKS && this.#records.size > 0; i++) {
      const next = this.#sweep.next();
      if (next.done) this.#sweep = this.#records.entries();
      else if (live(next.value[0]) === 0) this.#records.delete(next.value[0]);
    }
  }
}
