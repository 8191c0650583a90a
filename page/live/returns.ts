/** Shows the curve of returns, and the time at which the agent reached the goal. */
import { joined, plot } from "../parts/plot.ts";
import { Curve } from "./curve.ts";
import type { Scene } from "./messages.ts";

/** The return at which Gymnasium considers CartPole-v1 solved. */
const SOLVED = 475;
/** The number of milliseconds between two redraws of the curve. */
const CURVE_MS = 250;

export class Returns {
  readonly element: HTMLElement;
  readonly #set: (data: ReturnType<typeof joined>) => void;
  #episodes = new Curve();
  #greedy = new Curve();
  #drawn = 0;
  #fresh = false;
  last: number | undefined;
  greedy: number | undefined;
  solvedAt: number | undefined;

  constructor(signal: AbortSignal) {
    const { element, set } = plot(
      {
        label: "Returns over the steps: of episodes as it learns, and means of 100 greedy episodes",
        x: "steps",
        range: [0, 520],
        height: 190,
        lines: [
          { label: "episodes as it learns", points: true },
          { label: "mean of 100 greedy episodes, every 2,000 steps", colour: "--warm", width: 2, points: "both" },
        ],
      },
      signal,
    );
    this.element = element;
    this.#set = set;
  }

  clear(): void {
    this.#episodes = new Curve();
    this.#greedy = new Curve();
    this.last = this.greedy = this.solvedAt = undefined;
    this.#fresh = true;
  }

  add({ returns, greedy }: Scene): void {
    for (const point of returns) this.#episodes.add(point);
    for (const point of greedy) {
      this.#greedy.add(point);
      if (point.value >= SOLVED) this.solvedAt ??= point.step;
    }
    this.last = returns.at(-1)?.value ?? this.last;
    this.greedy = greedy.at(-1)?.value ?? this.greedy;
    this.#fresh ||= returns.length + greedy.length > 0;
    if (!this.#fresh || performance.now() - this.#drawn < CURVE_MS) return;
    this.#drawn = performance.now();
    this.#fresh = false;
    this.#set(joined({ x: this.#episodes.steps, y: this.#episodes.values }, { x: this.#greedy.steps, y: this.#greedy.values }));
  }
}
