/** Implements the bar under a replayed episode, which shows the current step and can move to any step. */
import { h } from "../parts/element.ts";
import type { Episode } from "./demonstrations.ts";

export interface ReplayWishes {
  seek(row: number): void;
  resume(row: number): void;
  pause(): void;
  close(): void;
}

export class ReplayBar {
  readonly element: HTMLElement;
  readonly #wishes: ReplayWishes;
  readonly #slider = h("input", { type: "range", min: 0, max: 0, value: 0, oninput: () => this.#sought() });
  readonly #place = h("span", { class: "place" });
  readonly #button = h("button", { type: "button", onclick: () => this.#toggle() }, "Pause");
  #rows = 1;
  #running = false;

  constructor(wishes: ReplayWishes) {
    this.#wishes = wishes;
    const close = h("button", { type: "button", onclick: () => wishes.close() }, "Close");
    this.element = h("div", { class: "row replay", hidden: true }, this.#button, this.#slider, this.#place, close);
  }

  begin({ id }: Episode, rows: number): void {
    this.#rows = rows;
    this.#slider.max = String(rows - 1);
    this.#slider.setAttribute("aria-label", `Step of episode ${id}`);
    this.#run(true);
  }

  at(row: number): void {
    this.#slider.value = String(row);
    this.#place.textContent = `step ${row} of ${this.#rows - 1}`;
    if (row === this.#rows - 1) this.#run(false);
  }

  #sought(): void {
    this.#run(false);
    this.#wishes.seek(Number(this.#slider.value));
  }

  #toggle(): void {
    const row = Number(this.#slider.value);
    this.#run(!this.#running);
    if (this.#running) this.#wishes.resume(row === this.#rows - 1 ? 0 : row);
    else this.#wishes.pause();
  }

  #run(running: boolean): void {
    this.#running = running;
    this.#button.textContent = running ? "Pause" : "Resume";
  }
}
