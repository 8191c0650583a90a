/** Shows figures about the agent. */
import { h } from "../parts/element.ts";
import { count, figure } from "../parts/figures.ts";
import type { Scene } from "./messages.ts";
import type { Returns } from "./returns.ts";

const NAMES = [
  ["Steps", "steps of the environment"],
  ["Last return", "of the last completed episode, with exploration"],
  ["Greedy mean", "mean return of 100 episodes without exploration"],
  ["Steps/s", "steps in the last second"],
  ["In the memory", "share of the agent's time spent in its memory"],
] as const;

export class Figures {
  readonly element = h("dl", { class: "figures" });
  readonly #of = new Map<string, HTMLElement>();
  #since: { readonly at: number; readonly steps: number } | undefined;

  constructor() {
    for (const [name, title] of NAMES) {
      const value = h("dd", {}, "–");
      this.#of.set(name, value);
      this.element.append(h("div", { title }, h("dt", {}, name), value));
    }
  }

  clear(): void {
    this.#since = undefined;
    for (const value of this.#of.values()) value.textContent = "–";
  }

  show({ steps, busyMs, replayMs }: Scene, { last, greedy }: Returns): void {
    this.#set("Steps", count(steps));
    if (last !== undefined) this.#set("Last return", count(last));
    if (greedy !== undefined) this.#set("Greedy mean", figure(greedy));
    // The percentage refers to the total time instead of the last second, because a browser's clock may be coarser than the time of one call.
    if (busyMs > 0) this.#set("In the memory", `${figure((100 * replayMs) / busyMs)} %`);
    const at = performance.now();
    this.#since ??= { at, steps };
    const since = this.#since;
    if (at - since.at < 1000) return;
    this.#set("Steps/s", count((1000 * (steps - since.steps)) / (at - since.at)));
    this.#since = { at, steps };
  }

  #set(name: string, text: string): void {
    const value = this.#of.get(name);
    if (value !== undefined && value.textContent !== text) value.textContent = text;
  }
}
