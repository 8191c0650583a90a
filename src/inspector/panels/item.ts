/** Implements the panel that shows one item: the probability of drawing the item, and every leaf of its steps. */
import { type KindInfo, SELECTOR_KINDS } from "../../schema/selector.ts";
import { DefinitionList, make, tableOf } from "../dom.ts";
import { countText, numberText } from "../format.ts";
import { type ImageLayout, imageLayout, linesOf, pixelsOf, rangeOf, rowsOf } from "../leaf-view.ts";
import { Plot } from "../plot.ts";
import type { ItemView, LeafValues, TableAbout } from "../protocol.ts";

/** The maximum number of images per leaf, and of rows of values or texts. */
const MAX_IMAGES = 32;
const MAX_ROWS = 64;
/** The width, in pixels, to which small images are enlarged. */
const MIN_WIDTH = 96;

export class ItemPanel {
  readonly root: HTMLElement;
  readonly #title = make("h3", { tabindex: "-1" }, "Item");
  readonly #explanation = make("p");
  readonly #definitions = new DefinitionList();
  readonly #leaves = make("div");
  #plots: Plot[] = [];

  constructor() {
    this.root = make("section", { class: "panel wide", "aria-label": "Chosen item" }, this.#title, this.#explanation, this.#definitions.root, this.#leaves);
    this.root.hidden = true;
  }

  show(item: ItemView, { sampler }: TableAbout, size: number): void {
    this.close();
    this.root.hidden = false;
    const { key, table, state, priority, weight, probability, timesSampled, length, age, episode, episodeAge, leaves } = item;
    this.#title.textContent = `Item ${key} of table ${table}`;
    this.#explanation.textContent = explanationText(item, sampler, size);
    this.#definitions.clear();
    if (state !== "gone") {
      this.#definitions.set("Table", table);
      this.#definitions.set("Priority", numberText(priority));
      if (!Number.isNaN(weight)) this.#definitions.set("Weight", numberText(weight));
      this.#definitions.set("Probability", probability > 0 ? `${numberText(probability)}, 1 in ${numberText(Math.round(1 / probability))}` : "0");
      if (!Number.isNaN(weight) && probability > 0) this.#definitions.set("Importance weight, β 1", numberText(1 / (size * probability)));
      this.#definitions.set("Times sampled", numberText(timesSampled));
      this.#definitions.set("Age", ageText(age, episodeAge));
      this.#definitions.set("Episode", numberText(episode));
      this.#definitions.set("Steps", numberText(length));
    }
    this.#leaves.replaceChildren(...leaves.map((leaf) => this.#leaf(leaf, length)));
  }

  /** Adapts the plots to the available width. */
  fit(): void {
    for (const plot of this.#plots) plot.fit();
  }

  focus(): void {
    this.#title.focus();
  }

  close(): void {
    for (const plot of this.#plots) plot.close();
    this.#plots = [];
    this.#leaves.replaceChildren();
  }

  #leaf(leaf: LeafValues, length: number): HTMLElement {
    const { path, dtype, shape, steps, data } = leaf;
    const description = `${dtype}${shape.length === 0 ? "" : ` [${shape.join(", ")}]`}${steps < length ? `, the first ${numberText(steps)} of ${countText(length, "step")}` : ""}`;
    const head = make("h4", {}, path || "step", " ", make("span", {}, description));
    const body = data === undefined ? make("p", { class: "summary" }, "One step is too large to read without using memory of the Replay.") : this.#values(leaf);
    return make("div", { class: "leaf" }, head, body);
  }

  #values(leaf: LeafValues): HTMLElement {
    const { path, dtype, shape, steps } = leaf;
    if (dtype === "string") return textsOf(leaf);
    const image = imageLayout(leaf);
    if (image !== undefined) return imagesOf(leaf, image);
    const lines = linesOf(leaf);
    const rows = () => rowsOf({ ...leaf, steps: Math.min(steps, MAX_ROWS) });
    if (lines === undefined)
      return make("div", { class: "scroll" }, tableOf(`Values of ${path || "step"}`, ["step", shape.length === 0 ? "value" : "values"], rows()));
    const x = lines.over === "steps" ? "step" : "element";
    const plot = new Plot({ title: path || "step", kind: "lines", x, y: "value", series: ["values"], height: 150 });
    plot.show({ x: lines.x, ys: lines.ys, summary: `${countText(lines.ys.length, "line")}: ${lines.series.join(", ")}`, rows });
    this.#plots.push(plot);
    return plot.root;
  }
}

/** Returns a text that explains the probability of drawing the item. */
export function explanationText(
  { state, probability, timesSampled, priority, weight }: ItemView,
  { kind, exponent = 1 }: TableAbout["sampler"],
  size: number,
): string {
  if (state === "gone") return "It is no longer in the table: it was evicted, deleted, or drawn as often as the table allows.";
  if (state === "waiting") return "It waits for the rate limiter and cannot be drawn yet.";
  const drawsText = timesSampled === 0 ? "It was never drawn." : `It was drawn ${numberText(timesSampled)} ${timesSampled === 1 ? "time" : "times"}.`;
  if (kind === "uniform") return `All ${countText(size, "item")} are equally likely. ${drawsText}`;
  // A Replay of another version may have other kinds of selectors.
  const known: KindInfo | undefined = SELECTOR_KINDS[kind];
  if (known?.weighs) {
    const share = Number.isNaN(weight)
      ? "all priorities are 0, so every item is equally likely"
      : `its share is priority^${numberText(exponent)} = ${numberText(weight)} of all weights`;
    return `Priority ${numberText(priority)}: ${share}; that is ${numberText(probability * size)} times its share in uniform draws. ${drawsText}`;
  }
  if (kind === "recency")
    return `Its share is age^-${numberText(exponent)} of all; that is ${numberText(probability * size)} times its share in uniform draws. ${drawsText}`;
  return probability > 0
    ? `The next draw returns it: ${kind} picks ${known?.picks}. ${drawsText}`
    : `The next draw returns another item: ${kind} picks ${known?.picks}. ${drawsText}`;
}

/** Returns the age of an item as text, as far as the table records the age. */
export function ageText(age: number, episodeAge: number): string {
  const parts = [];
  if (!Number.isNaN(age)) parts.push(`${countText(age, "item")} came after it`);
  if (!Number.isNaN(episodeAge)) parts.push(`${countText(episodeAge, "episode")} began after its episode`);
  return parts.join("; ") || "–";
}

function textsOf({ data, shape, steps }: LeafValues): HTMLElement {
  const texts = (data as readonly string[]).slice(0, MAX_ROWS);
  const size = shape.reduce((product, n) => product * n, 1);
  const isSame = texts.every((text) => text === texts[0]);
  if (isSame && steps > 1) return make("pre", {}, `${texts[0] ?? ""}\n(in each step)`);
  return make("pre", {}, texts.map((text, i) => `${Math.floor(i / size)}: ${text}`).join("\n"));
}

function imagesOf({ path, dtype, data, steps }: LeafValues, layout: ImageLayout): HTMLElement {
  const { height, width, channels, frames } = layout;
  const numbers = data as ArrayLike<number>;
  const [low, high] = rangeOf(dtype, numbers);
  const images = Array.from({ length: Math.min(MAX_IMAGES, steps * frames) }, (_, i) => {
    const name = `step ${Math.floor(i / frames)}${frames > 1 ? `, frame ${i % frames}` : ""}`;
    const canvas = make("canvas", { width: String(width), height: String(height), role: "img", "aria-label": `${path || "step"}, ${name}` });
    canvas.style.width = `${Math.max(width, MIN_WIDTH)}px`;
    canvas.getContext("2d")?.putImageData(new ImageData(pixelsOf(numbers, i * height * width * channels, layout, low, high), width, height), 0, 0);
    return make("figure", {}, canvas, make("figcaption", {}, name));
  });
  return make("div", { class: "frames" }, ...images);
}
