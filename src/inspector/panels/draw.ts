/** Draws a batch as the table would, without drawing from it, and lists it; and finds an item by its key. */
import { button, make, tableOf } from "../dom.ts";
import { countText, numberText } from "../format.ts";
import type { Drawn, ItemView } from "../survey.ts";

const ITEMS = 8;
const MOST = 1024;

export class DrawPanel {
  readonly root: HTMLElement;
  readonly #n: HTMLInputElement;
  readonly #key: HTMLInputElement;
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #said = make("p", { class: "summary", role: "status" });
  readonly #list = make("div", { class: "scroll" });
  readonly #shown: (item: ItemView) => void;
  readonly #look: (key: number) => void;

  /** @param draw asks for so many draws @param look asks for an item @param shown shows one that was drawn */
  constructor(draw: (n: number) => void, look: (key: number) => void, shown: (item: ItemView) => void) {
    this.#look = look;
    this.#shown = shown;
    this.#n = make("input", { type: "number", min: "1", max: String(MOST), value: String(ITEMS) });
    this.#key = make("input", { type: "number", min: "1" });
    const drawing = () => draw(Math.min(MOST, Math.max(1, Math.floor(Number(this.#n.value) || ITEMS))));
    const looking = () => this.#key.value !== "" && look(Number(this.#key.value));
    this.#key.addEventListener("keydown", ({ key }) => key === "Enter" && looking());
    this.#n.addEventListener("keydown", ({ key }) => key === "Enter" && drawing());
    const [drawn, looked] = [button("Draw a batch", drawing), button("Look at an item", looking)];
    this.#buttons = [drawn, looked];
    const bar = make("div", { class: "bar" }, make("label", {}, "Items", this.#n), drawn, make("label", {}, "Key", this.#key), looked);
    const note = make("p", { class: "summary" }, "Drawn as the table would draw, by the inspector's own random numbers: nothing is taken from the table.");
    this.root = make("section", { class: "panel wide", "aria-label": "Draw" }, make("h3", {}, "Draw a batch"), bar, note, this.#said, this.#list);
  }

  show({ table, items, blocked }: Drawn): void {
    const why = blocked === undefined ? "" : `: ${blockedText(blocked)}`;
    this.#said.textContent = items.length === 0 ? `No draw passes now${why}.` : `${countText(items.length, "item")} drawn${why}.`;
    const rows = items.map(({ leaves, ...item }) => {
      const { key, priority, weight, probability, timesSampled, age, episode, length } = item;
      const look = () => (leaves === undefined ? this.#look(key) : this.#shown({ table, ...item, leaves }));
      return [
        button(String(key), look, { "aria-label": `Look at item ${key}` }),
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

  /** Whether somebody answers. */
  enable(answers: boolean): void {
    for (const element of this.#buttons) element.disabled = !answers;
  }

  clear(): void {
    this.#said.textContent = "";
    this.#list.replaceChildren();
  }
}

/** Why a draw does not pass, as a sentence. */
export function blockedText({ by, have, need }: NonNullable<Drawn["blocked"]>): string {
  if (by === "minSize") return `the table has ${countText(have, "item")} and needs ${numberText(need)}`;
  if (by === "samplesPerInsert") return "the rate limiter waits for inserts";
  return by === "items" ? "there are no more distinct items" : "the next item has other columns";
}
