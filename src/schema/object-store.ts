/** Values in JavaScript, which rows cannot hold: stored by the name of their row. */

/** How many rows are looked at for each row that is taken: beside free rows are at most as many values as beside those that are held. */
const CHECKS_PER_ROW = 2;

export class ObjectStore {
  readonly #isLive: (row: number) => boolean;
  readonly #values = new Map<number, readonly unknown[]>();
  #sweep = this.#values.entries();

  /** @param isLive whether something holds a row */
  constructor(isLive: (row: number) => boolean) {
    this.#isLive = isLive;
  }

  /** Rows that have values beside them. */
  get size(): number {
    return this.#values.size;
  }

  /** Of a row that is held. */
  get(row: number): readonly unknown[] | undefined {
    return this.#values.get(row);
  }

  /** Puts values, or nothing, beside a row that was just taken. Lets go of what is beside free rows, a few of them at a time: O(1). */
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
