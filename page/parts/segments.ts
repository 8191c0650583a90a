/** One of a few choices, side by side: radio buttons, so that arrow keys and screen readers know them. */
import { h } from "./element.ts";

export interface Choice<T> {
  readonly value: T;
  readonly text: string;
  /** Where the text alone does not say it. */
  readonly label?: string;
}

let made = 0;

/** @returns a fieldset */
export function segments<T>(title: string, choices: readonly Choice<T>[], chosen: T, changed: (value: T) => void): HTMLElement {
  const name = `segments-${++made}`;
  const inputs = choices.map(({ value, label }) =>
    h("input", { type: "radio", name, checked: value === chosen, "aria-label": label, onchange: () => changed(value) }),
  );
  const labels = choices.map(({ text }, i) => h("label", {}, inputs[i] as HTMLInputElement, h("span", {}, text)));
  return h("fieldset", { class: "segments" }, h("legend", {}, title), ...labels);
}
