/** What went wrong, as a sentence in the page. */
import { h } from "./element.ts";

/** Where it went wrong, as far as that is known. */
export interface Where {
  readonly file?: string;
  /** Such as "episode 3, step 17" or "byte 1,024". */
  readonly place?: string;
}

/** The sentence alone. */
export function sentence(error: unknown, { file, place }: Where = {}): string {
  const message = error instanceof Error ? error.message : String(error);
  const where = [file, place].filter((part) => part !== undefined && part !== "" && !message.includes(part)).join(", ");
  const text = where === "" ? message : `${where}: ${message}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** An alert that a screen reader reads at once. */
export function trouble(error: unknown, where: Where = {}): HTMLElement {
  return h("p", { class: "trouble", role: "alert" }, sentence(error, where));
}
