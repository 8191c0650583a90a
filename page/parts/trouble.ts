/** Shows an error as a sentence in the page. */
import { h } from "./element.ts";
import { withoutToken } from "./without-token.ts";

/** Returns an alert, which a screen reader reads immediately. */
export function trouble(error: unknown): HTMLElement {
  const text = withoutToken(error instanceof Error ? error.message : String(error));
  return h("p", { class: "trouble", role: "alert" }, /[.!?]$/.test(text) ? text : `${text}.`);
}
