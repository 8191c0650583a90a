/** Keeps a curve of bounded size. At the limit, each pair of neighbours is replaced with its mean. */
import type { Point } from "./messages.ts";

const LIMIT = 1000;

export class Curve {
  steps: number[] = [];
  values: number[] = [];
  /** The number of original points per point of the curve. */
  #each = 1;
  #step = 0;
  #sum = 0;
  #count = 0;

  add({ step, value }: Point): void {
    this.#step = step;
    this.#sum += value;
    if (++this.#count < this.#each) return;
    this.steps.push(this.#step);
    this.values.push(this.#sum / this.#count);
    this.#sum = 0;
    this.#count = 0;
    if (this.steps.length >= LIMIT) this.#halve();
  }

  #halve(): void {
    this.steps = this.steps.filter((_, i) => i % 2 === 1);
    this.values = this.steps.map((_, i) => ((this.values[2 * i] as number) + (this.values[2 * i + 1] as number)) / 2);
    this.#each *= 2;
  }
}
