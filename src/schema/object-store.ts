/** Stores JavaScript values, which rows cannot contain, by row number. */

/** The number of rows that are checked whenever a row is taken. The checks keep the values of free rows from outnumbering the rows in use. */
const CHECKS_PER_ROW = 2;

export class ObjectStore {
  readonly #isLive: (row: number) => boolean;
  readonly #values = new Map<number, readonly unknown[]>();
  #sweep = this.#values.entries();

  /** @param isLive returns whether a row is in use */
  constructor(isLive: (row: number) => boolean) {
    this.#isLive = isLive;
  }

  /** The number of rows with values. */
  get size(): number {
    return this.#values.size;
  }

  /** Returns the values of a row in use; undefined if the row has none. */
  get(row: number): readonly unknown[] | undefined {
    return this.#values.get(row);
  }

  /** Sets or removes the values of a row that was just taken. Also removes the values of a few free rows: O(1). */
  set(row: number, values: readonly unknown[] | undefined): void {
    if (values !== undefined) this.#values.set(row, values);
    else if (this.#values.size > 0) this.#values.delete(row);
    for (let i = 0; i < CHECKS_PER_ROW && this.#values.size > 0; i++) {
      const next = this.#sweep.next();
      if (next.done) this.#sweep = this.#values.entries();
      else if (!this.#isLive(next.value[0])) this.#values.delete(next.value[0]);
    }
  }
}
