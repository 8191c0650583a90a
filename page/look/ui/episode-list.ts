/** Shows the list of episodes: only visible rows exist, however many episodes there are. */
import { h } from "../../parts/element.ts";
import { count, counted, figure } from "../../parts/figures.ts";
import { type EpisodeTable, NO_POINT, type Order, type Shown, SKETCH } from "../model/episode-table.ts";
import { listWindow, scrollTo } from "../model/list-window.ts";

export interface EpisodeListEvents {
  chosen(episode: number): void;
  /** Is called for the key F. */
  flag(episode: number): void;
  /** Is called for the key Enter, which moves the focus to the player. */
  entered(): void;
}

const ROW = 34;

export class EpisodeList {
  readonly element: HTMLElement;
  readonly #table: EpisodeTable;
  readonly #events: EpisodeListEvents;
  readonly #box: HTMLElement;
  readonly #inner = h("div", { class: "rows", role: "presentation" });
  readonly #summary = h("p", { class: "note", role: "status" });
  #order: Uint32Array = new Uint32Array(0);
  #by: Order = "index";
  #descending = false;
  #shown: Shown = "all";
  /** The place of the chosen episode in the order; -1 if the episode is not shown. */
  #at = -1;
  #chosen = -1;
  #frame = 0;
  #sortedAt = Number.NEGATIVE_INFINITY;

  constructor(table: EpisodeTable, events: EpisodeListEvents, signal: AbortSignal) {
    this.#table = table;
    this.#events = events;
    this.#box = h("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": "Episodes", "aria-describedby": "look-list-keys" }, this.#inner);
    this.#box.addEventListener("scroll", () => this.#draw());
    this.#box.addEventListener("keydown", (event) => this.#key(event));
    this.#box.addEventListener("click", (event) => this.#click(event));
    const sizes = new ResizeObserver(() => this.#draw());
    sizes.observe(this.#box);
    signal.addEventListener("abort", () => {
      sizes.disconnect();
      cancelAnimationFrame(this.#frame);
    });
    this.element = h(
      "section",
      { class: "panel episodes", "aria-label": "Episodes" },
      h("h2", {}, "Episodes"),
      h("div", { class: "row" }, this.#sorting(), this.#filter()),
      h("div", { class: "list-head", "aria-hidden": "true" }, ...["Episode", "Steps", "Return", "Action"].map((text) => h("span", {}, text))),
      this.#box,
      this.#summary,
      h("p", { class: "note keys", id: "look-list-keys" }, "Arrow keys choose, F flags, Enter goes to the episode"),
    );
  }

  /** Updates the list. Call this method when the table has grown or changed. */
  changed(): void {
    const now = performance.now();
    // Sorting many episodes is slow, so a long list is not sorted after every progress message.
    if (this.#by === "index" || this.#table.count < 20_000 || now - this.#sortedAt > 2000) this.#sort();
    this.#draw();
  }

  /** Chooses an episode that another part of the page shows, and scrolls to it. If a filter hides the episode, the filter is reset. */
  choose(episode: number): void {
    this.#chosen = episode;
    this.#at = this.#order.indexOf(episode);
    if (this.#at < 0 && this.#shown !== "all") this.#setShown("all");
    this.#reveal();
    this.#draw();
  }

  #sort(): void {
    this.#sortedAt = performance.now();
    this.#order = this.#table.order(this.#by, this.#descending, this.#shown);
    this.#at = this.#order.indexOf(this.#chosen);
    const { count: all, flagged } = this.#table;
    const shown = this.#order.length === all ? "" : `${count(this.#order.length)} shown of `;
    const text = `${shown}${counted(all, "episode")}${flagged > 0 ? `, ${count(flagged)} flagged` : ""}`;
    if (this.#summary.textContent !== text) this.#summary.textContent = text;
  }

  #sorting(): HTMLElement {
    const select = h("select", { "aria-label": "Order" });
    const orders: readonly (readonly [Order, boolean, string])[] = [
      ["index", false, "In order"],
      ["return", true, "Highest return first"],
      ["return", false, "Lowest return first"],
      ["length", true, "Longest first"],
      ["length", false, "Shortest first"],
    ];
    select.append(...orders.map(([, , text], i) => h("option", { value: i }, text)));
    select.addEventListener("change", () => {
      [this.#by, this.#descending] = orders[Number(select.value)] as readonly [Order, boolean, string];
      this.#anew();
    });
    return select;
  }

  readonly #showing = h("select", { "aria-label": "Which episodes" });

  #filter(): HTMLElement {
    const choices: readonly (readonly [Shown, string])[] = [
      ["all", "All"],
      ["flagged", "Flagged"],
      ["kept", "Not flagged"],
      ["faulty", "With findings"],
    ];
    this.#showing.append(...choices.map(([value, text]) => h("option", { value }, text)));
    this.#showing.addEventListener("change", () => this.#setShown(this.#showing.value as Shown));
    return this.#showing;
  }

  #setShown(shown: Shown): void {
    this.#shown = shown;
    this.#showing.value = shown;
    this.#anew();
  }

  #anew(): void {
    this.#sort();
    this.#box.scrollTop = 0;
    this.#reveal();
    this.#draw();
  }

  get #view() {
    return { rows: this.#order.length, rowHeight: ROW, scrollTop: this.#box.scrollTop, viewHeight: Math.max(this.#box.clientHeight, ROW) };
  }

  #reveal(): void {
    if (this.#at < 0) return;
    // The list needs the height of its rows before it is scrolled.
    this.#inner.style.height = `${listWindow(this.#view).height}px`;
    this.#box.scrollTop = scrollTo(this.#at, this.#view);
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      const { from, to, top, height } = listWindow(this.#view);
      this.#inner.style.height = `${height}px`;
      const rows: HTMLElement[] = [];
      for (let i = from; i < to; i++) {
        const row = this.#row(i);
        row.style.transform = `translateY(${top + (i - from) * ROW}px)`;
        rows.push(row);
      }
      this.#inner.replaceChildren(...rows);
      if (this.#at >= from && this.#at < to) this.#box.setAttribute("aria-activedescendant", `look-episode-${this.#chosen}`);
      else this.#box.removeAttribute("aria-activedescendant");
    });
  }

  #row(place: number): HTMLElement {
    const table = this.#table;
    const episode = this.#order[place] as number;
    const [length, sum, ending, faults] = [table.lengthOf(episode), table.returnOf(episode), table.endingOf(episode), table.faultsOf(episode)];
    const flagged = table.isFlagged(episode);
    const known = table.isRead(episode);
    const says = [
      `Episode ${episode}`,
      Number.isNaN(length) ? "" : counted(length, "step"),
      Number.isNaN(sum) ? "" : `return ${figure(sum)}`,
      known ? ending : "not read yet",
      faults > 0 ? counted(faults, "finding") : "",
      flagged ? "flagged" : "",
    ];
    return h(
      "div",
      {
        class: `episode${flagged ? " flagged" : ""}${known ? "" : " unread"}`,
        role: "option",
        id: `look-episode-${episode}`,
        "data-episode": episode,
        "aria-selected": String(episode === this.#chosen),
        "aria-setsize": this.#order.length,
        "aria-posinset": place + 1,
        "aria-label": says.filter((part) => part !== "").join(", "),
      },
      h("span", { class: "number" }, `${episode}`),
      h("span", { class: "length" }, Number.isNaN(length) ? "" : count(length)),
      h("span", { class: "return" }, Number.isNaN(sum) ? "" : figure(sum)),
      sketch(table.sketchOf(episode)),
      h("span", { class: faults > 0 ? "mark-faults" : "ending" }, faults > 0 ? "!" : (MARKS[ending] ?? "")),
      h("span", { class: "flag", title: flagged ? "Remove the flag" : "Flag" }, flagged ? "⚑" : "⚐"),
    );
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / ROW) - 1);
    const last = this.#order.length - 1;
    const to: { readonly [key: string]: number } = {
      ArrowDown: this.#at + 1,
      ArrowUp: this.#at - 1,
      PageDown: this.#at + page,
      PageUp: this.#at - page,
      Home: 0,
      End: last,
    };
    if (event.key in to && last >= 0) this.#pick(Math.min(last, Math.max(0, to[event.key] as number)));
    else if (event.key === "Enter" && this.#chosen >= 0) this.#events.entered();
    else if (event.key.toLowerCase() === "f" && this.#at >= 0) this.#events.flag(this.#chosen);
    else return;
    event.preventDefault();
  }

  #click(event: MouseEvent): void {
    const target = event.target as Element;
    const row = target.closest<HTMLElement>(".episode");
    if (row === null) return;
    const episode = Number(row.dataset.episode);
    if (target.closest(".flag") !== null) this.#events.flag(episode);
    else this.#pick(this.#order.indexOf(episode));
  }

  #pick(place: number): void {
    this.#at = place;
    this.#chosen = this.#order[place] as number;
    this.#reveal();
    this.#draw();
    this.#events.chosen(this.#chosen);
  }
}

const MARKS: { readonly [ending: string]: string } = { terminated: "■", truncated: "▹", open: "…" };

const SVG = "http://www.w3.org/2000/svg";

/** Draws the first number of the episode's actions over time, as a line. */
function sketch(points: Uint8Array): Element {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `-1 -1 ${SKETCH + 1} 22`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "polyline");
  const drawn = Array.from(points, (value, i) => (value === NO_POINT ? "" : `${i},${20 - (value / 254) * 20}`)).filter((point) => point !== "");
  line.setAttribute("points", drawn.join(" "));
  svg.append(line);
  return svg;
}
