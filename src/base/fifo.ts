/** Implements a queue with a constant-time `shift`. The `shift` of an array takes time proportional to the array's length. */

/** The array is shortened when more elements than this number, and more than half of its elements, have been removed. */
const SLACK = 1024;

export class Fifo<T> {
  #elements: (T | undefined)[] = [];
  #head = 0;

  /** The oldest element; undefined if the queue is empty. */
  get first(): T | undefined {
    return this.#elements[this.#head];
  }

  push(element: T): void {
    this.#elements.push(element);
  }

  /** Removes and returns the oldest element; undefined if the queue is empty. O(1), amortized */
  shift(): T | undefined {
    if (this.#head === this.#elements.length) return undefined;
    const element = this.#elements[this.#head];
    this.#elements[this.#head++] = undefined;
    if (this.#head > SLACK && 2 * this.#head > this.#elements.length) {
      this.#elements = this.#elements.slice(this.#head);
      this.#head = 0;
    }
    return element;
  }

  /** Returns the oldest element for which `passes` returns true; undefined if there is none. O(elements) */
  find(passes: (element: T) => boolean): T | undefined {
    for (let i = this.#head; i < this.#elements.length; i++) if (passes(this.#elements[i] as T)) return this.#elements[i];
    return undefined;
  }

  clear(): void {
    this.#elements = [];
    this.#head = 0;
  }
}
