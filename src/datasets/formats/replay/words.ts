/** Numbers of 32 bits in a list that grows. */
export class Words {
  length = 0;
  #words = new Uint32Array(16);

  /** Returns its place. */
  push(word: number): number {
    if (this.length === this.#words.length) {
      const larger = new Uint32Array(2 * this.length);
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words[this.length] = word;
    return this.length++;
  }

  at(index: number): number {
    return this.#words[index] as number;
  }

  set(index: number, word: number): void {
    this.#words[index] = word;
  }

  /** All of them. */
  taken(): Uint32Array {
    return this.#words.slice(0, this.length);
  }
}
