/**
 * Plots on a canvas, with uPlot: bars and points that are redrawn as numbers arrive, and lines of an item. Each plot has a table of its numbers for
 * accessibility.
 */
import uPlot from "uplot";
import { make, setText, tableOf } from "./dom.ts";
import { numberText } from "./format.ts";
import { type Theme, themeOf } from "./theme.ts";

export type PlotKind = "bars" | "points" | "lines";

export interface PlotOptions {
  readonly title: string;
  readonly kind: PlotKind;
  /** The labels of the axes. */
  readonly x: string;
  readonly y: string;
  readonly height?: number;
  /** The names of the series. */
  readonly series?: readonly string[];
}

/** The content of a plot: numbers to plot, a sentence that describes them, and the rows of the table. */
export interface PlotContent {
  readonly x: readonly number[];
  readonly ys: readonly (readonly (number | null)[])[];
  /** The start and end of the x axis. */
  readonly range?: readonly [number, number];
  /** Whether x is a logarithm to base 10. */
  readonly isLog?: boolean;
  readonly summary: string;
  readonly rows: () => readonly (readonly string[])[];
}

const HEIGHT = 140;
/** The maximum number of rows of the table next to a plot. */
const MAX_ROWS = 64;

export class Plot {
  readonly root: HTMLElement;
  readonly #options: PlotOptions;
  readonly #canvas = make("div", { class: "plot", role: "img" });
  readonly #summary = make("p", { class: "summary" });
  readonly #details: HTMLDetailsElement;
  #plot: uPlot | undefined;
  #content: PlotContent | undefined;
  #width = 0;
  #range: [number, number] = [0, 1];
  #isLog = false;
  #theme: Theme | undefined;

  constructor(options: PlotOptions) {
    this.#options = options;
    this.#details = make("details", {}, make("summary", {}, "As a table"));
    this.#details.addEventListener("toggle", () => this.#tabulate());
    this.root = make("figure", { class: "panel" }, make("figcaption", {}, options.title), this.#canvas, this.#summary, this.#details);
  }

  /** Shows new content. The cost is proportional to the number of plotted values. */
  show(content: PlotContent): void {
    this.#content = content;
    const { x, ys, summary, range, isLog = false } = content;
    setText(this.#summary, summary);
    this.#canvas.setAttribute("aria-label", `${this.#options.title}: ${summary}`);
    this.#isLog = isLog;
    this.#range = range === undefined ? extent(x) : [range[0], range[1]];
    const data = [x, ...ys] as unknown as uPlot.AlignedData;
    if (this.#plot === undefined) this.#make(data, ys.length);
    else this.#plot.setData(data);
    if (this.#details.open) this.#tabulate();
  }

  /** Adapts the plot to the available width and the current colours. */
  fit(): void {
    const width = this.#canvas.clientWidth;
    const theme = themeOf(this.root);
    const isOther = theme.ink !== this.#theme?.ink || theme.accent !== this.#theme?.accent;
    this.#theme = theme;
    if (this.#plot === undefined || width === 0) return;
    if (width !== this.#width) this.#plot.setSize({ width, height: this.#options.height ?? HEIGHT });
    else if (isOther) this.#plot.redraw(false, true);
    this.#width = width;
  }

  close(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  #make(data: uPlot.AlignedData, series: number): void {
    const { kind, x, y, height = HEIGHT } = this.#options;
    this.#width = this.#canvas.clientWidth || 300;
    this.#theme ??= themeOf(this.root);
    const ink = () => this.#theme?.ink ?? "gray";
    const grid = { stroke: () => this.#theme?.line ?? "gray", width: 1 };
    const axis = { stroke: ink, grid, ticks: { ...grid, size: 4 }, font: "11px system-ui, sans-serif", labelFont: "11px system-ui, sans-serif", labelSize: 16 };
    const values = (_: uPlot, splits: number[]) => splits.map((split) => axisText(this.#isLog ? 10 ** split : split));
    const color = (i: number) => () => this.#theme?.series[i % this.#theme.series.length] ?? "gray";
    const bars = uPlot.paths.bars?.({ size: [1, Number.POSITIVE_INFINITY], align: 1, gap: 1 });
    const seriesOptions = Array.from({ length: series }, (_, i): uPlot.Series => {
      if (kind === "bars") return { stroke: color(i), fill: color(i), width: 0, paths: bars, points: { show: false } };
      if (kind === "points") return { stroke: color(i), fill: color(i), paths: () => null, points: { show: true, size: 4, fill: color(i), width: 0 } };
      return { stroke: color(i), width: 1.5, points: { show: false } };
    });
    this.#plot = new uPlot(
      {
        width: this.#width,
        height,
        padding: [6, 18, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: false, range: () => this.#range }, y: { range: (_, min, max) => yRange(kind, min, max) } },
        series: [{}, ...seriesOptions],
        axes: [
          { ...axis, label: x, size: 24, space: 60, values },
          { ...axis, label: y, size: 44, space: 30, values: (_, splits) => splits.map(axisText) },
        ],
      },
      data,
      this.#canvas,
    );
  }

  #tabulate(): void {
    this.#details.querySelector("table")?.remove();
    if (!this.#details.open || this.#content === undefined) return;
    const rows = this.#content.rows();
    const { title, x, y, series = [y] } = this.#options;
    this.#details.append(
      tableOf(rows.length > MAX_ROWS ? `${title}: the first ${MAX_ROWS} of ${rows.length}` : title, [x, ...series], rows.slice(0, MAX_ROWS)),
    );
  }
}

function extent(x: readonly number[]): [number, number] {
  const [first = 0] = x;
  const last = x.at(-1) ?? 1;
  return first === last ? [first - 0.5, last + 0.5] : [first, last];
}

/** Returns the range of the y axis. Bars start at 0, and other plots have a margin. */
function yRange(kind: PlotKind, min: number | null, max: number | null): [number, number] {
  const [low, high] = [min ?? 0, max ?? 1];
  if (kind === "bars") return [Math.min(0, low), high > 0 ? high * 1.05 : Math.max(high, 1)];
  const margin = (high - low) * 0.05 || Math.max(0.5, Math.abs(high) * 0.05);
  return [low - margin, high + margin];
}

/** Returns a short text, because an axis has room for few digits. */
function axisText(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${numberText(value / 1e9)}G`;
  if (size >= 1e6) return `${numberText(value / 1e6)}M`;
  if (size >= 1e4) return `${numberText(value / 1e3)}k`;
  return numberText(Number(value.toPrecision(3)));
}
