/** Shows the progress of a long task: its name, a progress bar, and a button that stops the task. */
import { h } from "./element.ts";

export class Progress {
  readonly element: HTMLElement;
  readonly #bar = h("progress", { max: 1 });
  readonly #text = h("span", { role: "status" });

  /** @param stop stops the task. Without this function, there is no button */
  constructor(label: string, stop?: () => void) {
    this.#bar.setAttribute("aria-label", label);
    this.#text.textContent = label;
    this.element = h("div", { class: "progress" }, this.#text, this.#bar, stop && h("button", { type: "button", onclick: stop }, "Stop"));
  }

  /** Updates the bar. @param share the completed fraction of the task, from 0 to 1; undefined if unknown @param text the new text next to the bar */
  set(share: number | undefined, text?: string): void {
    if (share === undefined) this.#bar.removeAttribute("value");
    else this.#bar.value = Math.min(1, Math.max(0, share));
    // An unchanged text is not set again, because a screen reader would repeat it.
    if (text !== undefined && text !== this.#text.textContent) this.#text.textContent = text;
  }

  end(): void {
    this.element.remove();
  }
}
