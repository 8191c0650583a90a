/** Implements a growing list of 32-bit numbers. */
export class Uint32List {
  length = 0;
  #values = new Uint32Array(16);

  /** Appends a number and returns its index. */
  push(word: number): number {
    if (this.length === this.#values.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length] = word;
    return this.length++;
  }

  at(index: number): number {
    return this.#values[index] as number;
  }

  set(index: number, word: number): void {
    this.#values[index] = word;
  }

  /** Returns all numbers. */
  toArray(): Uint32Array {
    return this.#values.slice(0, this.length);
  }
}
