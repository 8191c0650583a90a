/** Shows the distribution of each leaf over the episodes read so far, and of the episodes' lengths and returns. */
import { h, section } from "../../parts/element.ts";
import { count, counted, figure } from "../../parts/figures.ts";
import { type Plot, plot } from "../../parts/plot.ts";
import { Bins, type Spread } from "../model/bins.ts";
import type { Distribution } from "../model/distributions.ts";
import type { EpisodeTable } from "../model/episode-table.ts";

/** The number of cards shown initially. */
const CARDS = 12;
const LAST = ["is_first", "is_last", "is_terminal"];

export interface DistributionsView {
  readonly element: HTMLElement;
  set(distributions: readonly Distribution[]): void;
}

interface Card {
  readonly element: HTMLElement;
  set(distribution: Distribution): void;
}

export function distributionsView(table: EpisodeTable, signal: AbortSignal): DistributionsView {
  const note = h("p", { class: "note" });
  const cards = h("div", { class: "cards" });
  const more = h("button", { type: "button", hidden: true });
  const made = new Map<string, Card>();
  let latest: readonly Distribution[] = [];
  let limit = CARDS;
  const draw = () => {
    const all = [...ofEpisodes(table), ...latest.filter(({ path }) => !LAST.includes(path))];
    for (const distribution of all.slice(0, limit)) {
      const card = made.get(distribution.path) ?? (distribution.spread === undefined ? texts(distribution) : numbers(distribution, signal));
      if (!made.has(distribution.path)) cards.append(card.element);
      made.set(distribution.path, card);
      card.set(distribution);
    }
    more.hidden = all.length <= limit;
    more.textContent = `Show all ${all.length}`;
    note.textContent = `Over ${counted(table.read, "episode")}${table.read < table.count ? ` of ${count(table.count)}` : ""}. Actions, rewards and discounts of last steps are left out.`;
  };
  more.addEventListener("click", () => {
    limit = Number.POSITIVE_INFINITY;
    draw();
  });
  return {
    element: section("Distributions", note, cards, more),
    set(distributions) {
      latest = distributions;
      draw();
    },
  };
}

function ofEpisodes(table: EpisodeTable): Distribution[] {
  return (["length", "return"] as const).flatMap((of) => {
    const values = table.values(of);
    const bins = new Bins(values.every(Number.isInteger));
    for (const value of values) bins.add(value);
    const { spread } = bins;
    return spread.count === 0 ? [] : [{ path: of === "length" ? "Episode length" : "Episode return", dtype: "", shape: [], stride: 1, spread }];
  });
}

function heading({ path, dtype, shape, stride }: Distribution): HTMLElement {
  const form = `${dtype}${shape.length === 0 ? "" : ` [${shape.join(", ")}]`}${stride > 1 ? `, every ${stride}th element` : ""}`;
  return h("h3", {}, path, " ", h("small", {}, form));
}

function numbers(first: Distribution, signal: AbortSignal): Card {
  const figures = h("p", { class: "note" });
  const drawn: Plot = plot({ label: `Distribution of ${first.path}`, lines: [{ label: "values", bars: true }], height: 96 }, signal);
  return {
    element: h("div", { class: "card" }, heading(first), drawn.element, figures),
    set({ spread }) {
      const { counts, min, max, mean, std, nonFinite } = spread as Spread;
      drawn.set([barsOf(spread as Spread), counts]);
      const parts = [
        `${figure(min)} … ${figure(max)}`,
        `mean ${figure(mean)}`,
        Number.isNaN(std) ? "" : `sd ${figure(std)}`,
        nonFinite > 0 ? `${count(nonFinite)} not finite` : "",
      ];
      figures.textContent = parts.filter((part) => part !== "").join(" · ");
    },
  };
}

/** Returns the positions of bars: in the middle of their bins, but exactly on whole numbers and on a constant value. */
export function barsOf({ low, width, counts, min, max }: Spread): number[] {
  if (min === max) return Array.from(counts, () => min);
  return Array.from(counts, (_, i) => low + (i + (width === 1 ? 0 : 0.5)) * width);
}

function texts(first: Distribution): Card {
  const list = h("ol", { class: "text-counts" });
  return {
    element: h("div", { class: "card" }, heading(first), list),
    set({ texts: found = [], otherTexts = 0 }) {
      const rows = found.map(({ text, count: times }) =>
        h("li", {}, h("span", { class: "text" }, text === "" ? "(empty)" : text), h("span", {}, count(times))),
      );
      if (otherTexts > 0) rows.push(h("li", {}, h("span", { class: "text" }, "others"), h("span", {}, count(otherTexts))));
      list.replaceChildren(...rows);
    },
  };
}
