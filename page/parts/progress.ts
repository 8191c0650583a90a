/** Shows the progress of a long task: its name, its share, and a button that stops it. */
import { h } from "./element.ts";

export class Progress {
  readonly element: HTMLElement;
  readonly #bar = h("progress", { max: 1 });
  readonly #text = h("span", { role: "status" });

  /** @param stop is called by the button. Without this function, there is no button */
  constructor(label: string, stop?: () => void) {
    this.#bar.setAttribute("aria-label", label);
    this.#text.textContent = label;
    this.element = h("div", { class: "progress" }, this.#text, this.#bar, stop && h("button", { type: "button", onclick: stop }, "Stop"));
  }

  /** @param share between 0 and 1; undefined if unknown */
  set(share: number | undefined, text?: string): void {
    if (share === undefined) this.#bar.removeAttribute("value");
    else this.#bar.value = Math.min(1, Math.max(0, share));
    // The text is set only if it changed, because a screen reader would read it again.
    if (text !== undefined && text !== this.#text.textContent) this.#text.textContent = text;
  }

  end(): void {
    this.element.remove();
  }
}
