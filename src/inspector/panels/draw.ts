/** Implements the panel that previews a batch without drawing from the table, and finds an item by its key. */
import { button, make, tableOf } from "../dom.ts";
import { countText, numberText } from "../format.ts";
import type { DrawPreview, ItemView } from "../protocol.ts";

const ITEMS = 8;
const MAX_ITEMS = 1024;

export class DrawPanel {
  readonly root: HTMLElement;
  readonly #n: HTMLInputElement;
  readonly #key: HTMLInputElement;
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #summary = make("p", { class: "summary", role: "status" });
  readonly #list = make("div", { class: "scroll" });
  readonly #onShow: (item: ItemView) => void;
  readonly #onLookUp: (key: number) => void;

  /** @param onDraw requests a number of draws @param onLookUp requests an item @param onShow shows a drawn item */
  constructor(onDraw: (n: number) => void, onLookUp: (key: number) => void, onShow: (item: ItemView) => void) {
    this.#onLookUp = onLookUp;
    this.#onShow = onShow;
    this.#n = make("input", { type: "number", min: "1", max: String(MAX_ITEMS), value: String(ITEMS) });
    this.#key = make("input", { type: "number", min: "1" });
    const submitDraw = () => onDraw(Math.min(MAX_ITEMS, Math.max(1, Math.floor(Number(this.#n.value) || ITEMS))));
    const submitKey = () => this.#key.value !== "" && onLookUp(Number(this.#key.value));
    this.#key.addEventListener("keydown", ({ key }) => key === "Enter" && submitKey());
    this.#n.addEventListener("keydown", ({ key }) => key === "Enter" && submitDraw());
    const [drawButton, keyButton] = [button("Draw a batch", submitDraw), button("Look at an item", submitKey)];
    this.#buttons = [drawButton, keyButton];
    const bar = make("div", { class: "bar" }, make("label", {}, "Items", this.#n), drawButton, make("label", {}, "Key", this.#key), keyButton);
    const note = make("p", { class: "summary" }, "A preview of the table's draws, with separate random numbers. The table does not change.");
    this.root = make("section", { class: "panel wide", "aria-label": "Draw" }, make("h3", {}, "Draw a batch"), bar, note, this.#summary, this.#list);
  }

  show({ table, items, blocked }: DrawPreview): void {
    const reason = blocked === undefined ? "" : `: ${blockedText(blocked)}`;
    this.#summary.textContent = items.length === 0 ? `No draw passes now${reason}.` : `${countText(items.length, "item")} drawn${reason}.`;
    const rows = items.map(({ leaves, ...item }) => {
      const { key, priority, weight, probability, timesSampled, age, episode, length } = item;
      const open = () => (leaves === undefined ? this.#onLookUp(key) : this.#onShow({ table, ...item, leaves }));
      return [
        button(String(key), open, { "aria-label": `Look at item ${key}` }),
        numberText(priority),
        numberText(weight),
        numberText(probability),
        numberText(timesSampled),
        numberText(age),
        numberText(episode),
        numberText(length),
      ];
    });
    const head = ["key", "priority", "weight", "probability", "times sampled", "age", "episode", "steps"];
    this.#list.replaceChildren(...(items.length === 0 ? [] : [tableOf("A batch", head, rows)]));
  }

  /** Enables or disables the buttons. */
  enable(isEnabled: boolean): void {
    for (const element of this.#buttons) element.disabled = !isEnabled;
  }

  clear(): void {
    this.#summary.textContent = "";
    this.#list.replaceChildren();
  }
}

/** Returns a sentence that explains why a draw is blocked. */
export function blockedText({ by, have, need }: NonNullable<DrawPreview["blocked"]>): string {
  if (by === "minSize") return `the table has ${countText(have, "item")} and needs ${numberText(need)}`;
  if (by === "samplesPerInsert") return "the rate limiter waits for inserts";
  return by === "items" ? "there are no more distinct items" : "the next item has other columns";
}
