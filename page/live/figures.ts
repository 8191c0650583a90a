/** The agent in figures. */
import { h } from "../parts/element.ts";
import { count, figure } from "../parts/figures.ts";
import type { Scene } from "./messages.ts";
import type { Returns } from "./returns.ts";

export class Figures {
  readonly element = h("dl", { class: "figures" });
  readonly #of = new Map<string, HTMLElement>();
  #since: { readonly at: number; readonly steps: number; readonly busyMs: number; readonly replayMs: number } | undefined;

  constructor() {
    for (const name of ["Steps", "Last return", "Greedy return", "Steps a second", "Time in the memory"]) {
      const value = h("dd", {}, "–");
      this.#of.set(name, value);
      this.element.append(h("div", {}, h("dt", {}, name), value));
    }
  }

  clear(): void {
    this.#since = undefined;
    for (const value of this.#of.values()) value.textContent = "–";
  }

  show({ steps, busyMs, replayMs }: Scene, { last, greedy }: Returns): void {
    this.#set("Steps", count(steps));
    if (last !== undefined) this.#set("Last return", count(last));
    if (greedy !== undefined) this.#set("Greedy return", figure(greedy));
    const at = performance.now();
    this.#since ??= { at, steps, busyMs, replayMs };
    const since = this.#since;
    if (at - since.at < 1000) return;
    this.#set("Steps a second", count((1000 * (steps - since.steps)) / (at - since.at)));
    if (busyMs > since.busyMs) this.#set("Time in the memory", `${figure((100 * (replayMs - since.replayMs)) / (busyMs - since.busyMs))} %`);
    this.#since = { at, steps, busyMs, replayMs };
  }

  #set(name: string, text: string): void {
    const value = this.#of.get(name);
    if (value !== undefined && value.textContent !== text) value.textContent = text;
  }
}
