/** Lists the saved episodes, newest first, with actions for each episode. */
import { h } from "../parts/element.ts";
import { count } from "../parts/figures.ts";
import type { Ending, Episode } from "./demonstrations.ts";

export interface Wishes {
  show(episode: Episode): void;
  /** Resolves when the change is saved, or was rejected. */
  use(episode: Episode, used: boolean): Promise<void>;
  delete(episode: Episode): void;
}

const ENDINGS: { readonly [E in Ending]: readonly [word: string, meaning: string] } = {
  docked: ["docked", "A success: it came to rest in the ring"],
  wrecked: ["wrecked", "It hit a rock"],
  late: ["late", "The time ran out"],
  stopped: ["stopped", "You stopped it"],
  cut: ["cut", "The page was closed or crashed before the episode ended. These steps were saved"],
};

/** Returns the tick and the buttons of a row. */
const controlsOf = (row: HTMLElement) => [...row.querySelectorAll<HTMLElement>("input, button")];

export class EpisodeList {
  readonly element: HTMLElement;
  readonly #body = h("tbody", {});
  readonly #nothing = h("p", { class: "note" }, "None yet. Play, and each episode comes here once it is saved.");
  readonly #wishes: Wishes;
  /** The number of the episode whose tick was changed last. */
  #ticked = 0;
  readonly #rows = new Map<number, { episode: Episode; readonly row: HTMLTableRowElement }>();

  constructor(wishes: Wishes) {
    this.#wishes = wishes;
    const heads = ["No.", "Steps", "Return", "Ended", "Use"].map((text) => h("th", { scope: "col" }, text));
    const head = h("thead", {}, h("tr", {}, ...heads, h("th", { scope: "col", colspan: 2 }, h("span", { class: "hidden" }, "Show or delete"))));
    const scroll = h("div", { class: "scroll list", tabindex: 0, role: "region", "aria-label": "Saved episodes" }, h("table", {}, head, this.#body));
    this.element = h("div", {}, this.#nothing, scroll);
    this.set([]);
  }

  set(episodes: readonly Episode[]): void {
    this.#nothing.hidden = episodes.length > 0;
    (this.#body.closest(".list") as HTMLElement).hidden = episodes.length === 0;
    const there = new Set(episodes.map(({ id }) => id));
    for (const [id, { row }] of this.#rows) {
      if (there.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    // Existing rows stay, so that a focused button keeps the focus.
    for (const episode of episodes) {
      const known = this.#rows.get(episode.id);
      if (known?.episode.used === episode.used) continue;
      const row = this.#row(episode);
      this.#rows.set(episode.id, { episode, row });
      if (known === undefined) this.#body.prepend(row);
      else {
        const { activeElement } = document;
        // While a tick is saved, its box is disabled, and browsers move the focus to the body. A focus elsewhere stays, such as in the game.
        const focused = activeElement === document.body && this.#ticked === episode.id ? 0 : controlsOf(known.row).indexOf(activeElement as HTMLElement);
        known.row.replaceWith(row);
        controlsOf(row)[focused]?.focus();
      }
    }
  }

  #row(episode: Episode): HTMLTableRowElement {
    const { id, steps, ending, used } = episode;
    const [word, meaning] = ENDINGS[ending];
    const wishes = this.#wishes;
    const use = h("input", {
      type: "checkbox",
      checked: used,
      "aria-label": `Use episode ${id}`,
      onchange: async () => {
        // The tick can be changed again only once the change is saved.
        this.#ticked = id;
        use.disabled = true;
        await wishes.use(episode, use.checked);
        use.disabled = false;
        use.checked = this.#rows.get(id)?.episode.used ?? used;
      },
    });
    const button = (sign: string, label: string, wish: () => void) =>
      h("button", { type: "button", class: "small", title: label, "aria-label": label, onclick: wish }, sign);
    return h(
      "tr",
      { class: used ? "" : "unused" },
      h("th", { scope: "row" }, id),
      h("td", {}, count(steps)),
      h("td", {}, episode.return.toFixed(2)),
      h("td", { class: ending, title: meaning }, word),
      h("td", {}, use),
      h(
        "td",
        {},
        button("▶", `Show episode ${id}`, () => wishes.show(episode)),
      ),
      h(
        "td",
        {},
        button("✕", `Delete episode ${id}`, () => wishes.delete(episode)),
      ),
    );
  }
}
