/** Implements the panels that show a Replay's fill level and rate limiter, from counters of the core. */
import { DefinitionList, make, setText } from "../dom.ts";
import { bytesText, countText, numberText } from "../format.ts";
import type { About, Survey, TableAbout, TableCounts } from "../protocol.ts";

/** A bar with a text that states the same value. */
class Gauge {
  readonly root: HTMLElement;
  readonly #meter: HTMLMeterElement;
  readonly #text = make("p", { class: "summary" });

  constructor(name: string) {
    this.#meter = make("meter", { "aria-label": name, min: "0" });
    this.root = make("div", {}, make("h3", {}, name), this.#meter, this.#text);
  }

  show(value: number, max: number, text: string): void {
    const isLimited = Number.isFinite(max);
    this.root.querySelector("meter")?.toggleAttribute("hidden", !isLimited);
    if (isLimited) {
      this.#meter.max = Math.max(max, Number.MIN_VALUE);
      this.#meter.value = value;
    }
    setText(this.#text, text);
  }
}

export class FillPanel {
  readonly root: HTMLElement;
  readonly #items = new Gauge("Items");
  readonly #bytes = new Gauge("Memory");
  readonly #definitions = new DefinitionList();

  constructor() {
    this.root = make("section", { class: "panel", "aria-label": "Fill" }, this.#items.root, this.#bytes.root, this.#definitions.root);
  }

  show({ maxBytes }: About, { steps, bytes, packed, writers }: Survey, about: TableAbout | undefined, counts: TableCounts | undefined): void {
    this.#bytes.show(bytes, maxBytes, `${bytesText(bytes)} of ${bytesText(maxBytes)}`);
    this.#items.root.hidden = counts === undefined;
    this.#definitions.set("Steps stored", numberText(steps));
    for (const frames of packed) this.#definitions.set(`Packed: ${frames.name}`, packedText(frames));
    this.#definitions.set("Writers", numberText(writers));
    if (counts === undefined || about === undefined) return;
    const percentage = ((100 * counts.size) / counts.maxSize).toFixed(0);
    this.#items.show(counts.size, counts.maxSize, `${numberText(counts.size)} of ${countText(counts.maxSize, "item")}, ${percentage} %`);
    const limit = Number.isFinite(about.maxSteps) ? ` of ${numberText(about.maxSteps)}` : "";
    this.#definitions.set("Steps in items", numberText(counts.steps) + limit);
    this.#definitions.set("Episodes", numberText(counts.episodes));
    this.#definitions.set("Sampler", selectorText(about.sampler));
    this.#definitions.set("Remover", selectorText(about.remover));
    this.#definitions.set("Drawn at least once", numberText(counts.uniqueSamples));
    this.#definitions.set("Deleted", numberText(counts.deletes));
  }
}

export class LimiterPanel {
  readonly root: HTMLElement;
  readonly #cursor = new Gauge("Rate limiter");
  readonly #definitions = new DefinitionList();

  constructor() {
    this.root = make("section", { class: "panel", "aria-label": "Rate limiter" }, this.#cursor.root, this.#definitions.root);
  }

  show({ rateLimiter }: TableAbout, { size, inserts, samples, pending, canSample, canInsert }: TableCounts): void {
    const { samplesPerInsert, minSize, minDiff, maxDiff } = rateLimiter;
    const isLimited = (diff: number) => Math.abs(diff) < Number.MAX_VALUE;
    const cursor = inserts * samplesPerInsert - samples;
    const range = `${isLimited(minDiff) ? numberText(minDiff) : "−∞"} … ${isLimited(maxDiff) ? numberText(maxDiff) : "∞"}`;
    if (isLimited(minDiff) && isLimited(maxDiff)) this.#cursor.show(cursor - minDiff, maxDiff - minDiff, `Cursor ${numberText(cursor)} in ${range}`);
    else
      this.#cursor.show(
        size,
        size < minSize ? minSize : Number.POSITIVE_INFINITY,
        `No limit, but at least ${countText(minSize, "item")} before the first draw`,
      );
    this.#definitions.set("Draws", canSample ? "pass" : size < minSize ? `wait for ${countText(minSize, "item")}` : "wait for inserts");
    this.#definitions.set("Inserts", canInsert ? "pass" : "wait for draws");
    this.#definitions.set("Inserted", numberText(inserts));
    this.#definitions.set("Drawn", numberText(samples));
    this.#definitions.set("Draws per insert", inserts > 0 ? numberText(samples / inserts) : "–");
    this.#definitions.set("Items waiting", numberText(pending));
  }
}

function packedText({ bytes, rawBytes }: Survey["packed"][number]): string {
  return bytes === 0 ? "none" : `${bytesText(bytes)} of ${bytesText(rawBytes)}, 1 / ${(rawBytes / bytes).toFixed(1)}`;
}

function selectorText({ kind, exponent }: TableAbout["sampler"]): string {
  return exponent === undefined ? kind : `${kind}, exponent ${numberText(exponent)}`;
}
