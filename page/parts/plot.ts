/** Makes plots with uPlot, in the page's colours and as wide as their container. */
import uPlot from "uplot";
import { h } from "./element.ts";

export interface Line {
  readonly label: string;
  /** A CSS variable of the page, such as `--accent`. */
  readonly colour?: string;
  readonly width?: number;
  /** Whether to draw points without a line, or "both" for points on a line. */
  readonly points?: boolean | "both";
  readonly bars?: boolean;
}

export interface PlotOptions {
  /** The text for screen readers. */
  readonly label: string;
  readonly lines: readonly Line[];
  readonly height?: number;
  readonly x?: string;
  readonly y?: string;
  /** The range of y. Default: the range of the data. */
  readonly range?: readonly [number, number];
  /** Receives the x of a click. */
  readonly pick?: (x: number) => void;
}

export interface Plot {
  readonly element: HTMLElement;
  /** The first array is x, in ascending order; then y of each line, null if a line has no value. `joined` makes such data from lines with different x. */
  set(data: readonly ArrayLike<number | null | undefined>[]): void;
  /** Moves a vertical line to x; undefined removes it. Nothing is redrawn. */
  mark(x: number | undefined): void;
}

/** Joins lines with different x. */
export function joined(...lines: readonly { readonly x: readonly number[]; readonly y: readonly number[] }[]): readonly ArrayLike<number | null | undefined>[] {
  return uPlot.join(lines.map(({ x, y }) => [x as number[], y as number[]]));
}

const colours = matchMedia("(prefers-color-scheme: dark)");

/** Makes a plot that is removed when the signal aborts. */
export function plot(options: PlotOptions, signal: AbortSignal): Plot {
  const place = h("div", { class: "plot", role: "img", "aria-label": options.label });
  const element = h("div", { class: "plotted" }, options.lines.length > 1 && key(options.lines), place);
  let data: uPlot.AlignedData = [[], ...options.lines.map(() => [])] as unknown as uPlot.AlignedData;
  let chart: uPlot | undefined;
  let marked: number | undefined;
  const mark = h("div", { class: "mark", hidden: true });
  const moveMark = () => {
    mark.hidden = marked === undefined;
    if (marked !== undefined && chart !== undefined) mark.style.transform = `translateX(${chart.valToPos(marked, "x")}px)`;
  };
  const make = () => {
    chart?.destroy();
    if (place.clientWidth === 0) {
      chart = undefined;
      return;
    }
    const made = new uPlot({ ...settings(options, place), hooks: { setScale: [moveMark], setSize: [moveMark] } }, data, place);
    chart = made;
    made.over.append(mark);
    if (options.pick !== undefined) made.over.addEventListener("click", ({ offsetX }) => options.pick?.(made.posToVal(offsetX, "x")));
    moveMark();
  };
  const sizes = new ResizeObserver(() => {
    if (chart === undefined) make();
    else if (place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: chart.height });
  });
  sizes.observe(place);
  // A canvas does not follow changes of the style sheet, so the plot is drawn again.
  colours.addEventListener("change", make, { signal });
  signal.addEventListener("abort", () => {
    sizes.disconnect();
    chart?.destroy();
  });
  return {
    element,
    set(next) {
      data = next as unknown as uPlot.AlignedData;
      chart?.setData(data);
    },
    mark(x) {
      marked = x;
      moveMark();
    },
  };
}

/** Returns the legend of colours. */
function key(lines: readonly Line[]): HTMLElement {
  const list = h("ul", { class: "key" });
  for (const { label, colour = "--accent" } of lines) {
    const entry = h("li", {}, label);
    entry.style.setProperty("--colour", `var(${colour})`);
    list.append(entry);
  }
  return list;
}

function settings({ lines, height = 160, x, y, range }: PlotOptions, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const font = `12px ${style.fontFamily}`;
  const axis = {
    stroke: of("--dim"),
    font,
    labelFont: font,
    grid: { stroke: of("--line"), width: 1 },
    ticks: { stroke: of("--line"), width: 1, size: 4 },
    labelSize: 18,
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    // Bars start at 0.
    scales: {
      x: { time: false, range: (chart, min, max) => rangeOfX(chart.data[0], min, max, lines[0]?.bars === true) },
      y: {
        range: range
          ? [range[0], range[1]]
          : lines[0]?.bars
            ? (_, __, max) => [0, max > 0 ? 1.05 * max : 1]
            : (_, min, max) => (min === max || min === null ? around(min) : uPlot.rangeNum(min, max, 0.1, true)),
      },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 28, space: roomFor, ...(x && { label: x }) },
      { ...axis, size: (_, values) => Math.max(44, 14 + LETTER * longest(values)), ...(y && { label: y }) },
    ],
    series: [
      { label: x ?? "" },
      ...lines.map(({ label, colour = "--accent", width = 1.5, points = false, bars = false }) => ({
        label,
        stroke: of(colour),
        spanGaps: true,
        width: points === true ? 0 : width,
        // A single point has no line.
        points: { show: points ? true : isAlone, size: points === true ? 4 : 7, fill: of(colour), stroke: of(colour), width: 0 },
        ...(points === true && { paths: () => null }),
        ...(bars && { fill: of(colour), paths: (uPlot.paths.bars as uPlot.Series.BarsPathBuilderFactory)({ size: [0.9, 64] }) }),
      })),
    ],
  };
}

/** Returns a range centred on one value. For zeros, uPlot would show 0 to 100. */
export function around(value: number | null): [number, number] {
  if (value === null || value === undefined) return [0, 1];
  const room = value === 0 ? 1 : Math.abs(value) / 2;
  return [value - room, value + room];
}

/** Returns the range from the first x to the last x. Bars are centred on x, so half a bar is added at both ends. */
export function rangeOfX(x: ArrayLike<number>, min: number | null, max: number | null, areBars: boolean): [number, number] {
  // For a single value, uPlot passes an artificial range.
  if (x.length === 1) return around(x[0] as number);
  if (min === null || max === null || min === max) return around(min);
  const half = areBars ? ((x[1] as number) - (x[0] as number)) / 2 : 0;
  return [min - half, max + half];
}

/** Returns whether a line has only one point. */
function isAlone({ data }: uPlot, line: number): boolean {
  let count = 0;
  for (const value of data[line] ?? []) if (value !== null && value !== undefined && ++count > 1) return false;
  return count === 1;
}

/** The width of a digit, in pixels. */
const LETTER = 7.5;

const longest = (values: readonly string[] | null): number => Math.max(0, ...(values ?? []).map((value) => value?.length ?? 0));

/** Returns the space between two numbers at the axis. Large numbers, written with commas, need more space. */
function roomFor(_: uPlot, __: number, min: number, max: number): number {
  const digits = Math.ceil(Math.log10(Math.max(1, Math.abs(min), Math.abs(max))));
  return Math.max(50, 24 + LETTER * digits * 1.4);
}
