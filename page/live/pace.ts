/** Computes how many steps are due at a given rate, and never catches up on more than a tenth of a second. */
const AT_MOST = 0.1;

export class Pace {
  #rate = 0;
  #owed = 0;
  #since = 0;

  set(rate: number, now: number): void {
    this.#rate = rate;
    this.#owed = 0;
    this.#since = now;
  }

  /** Returns the number of steps that are due at a time in milliseconds. The caller then reports the steps that it took to `took`. */
  due(now: number): number {
    if (this.#rate === Infinity) return Infinity;
    this.#owed = Math.min(this.#owed + (this.#rate * (now - this.#since)) / 1000, Math.max(1, AT_MOST * this.#rate));
    this.#since = now;
    return Math.floor(this.#owed);
  }

  took(steps: number): void {
    if (this.#rate !== Infinity) this.#owed -= steps;
  }

  /** Returns the milliseconds until the next step is due, or Infinity before a rate is set. */
  get wait(): number {
    return this.#rate === Infinity ? 0 : Math.max(0, ((1 - this.#owed) * 1000) / this.#rate);
  }
}
