/** Creates a choice between a few options from radio buttons, which support arrow keys and screen readers. */
import { h } from "./element.ts";

export interface Choice<T> {
  readonly value: T;
  readonly text: string;
  /** The label for screen readers, if the text is not sufficient. */
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
