/** Implements the plots of a table: distributions of a sample of its items, and episodes over time. */
import { countText, numberText } from "../format.ts";
import { type Bins, binsOf, meansOf } from "../histogram.ts";
import type { Model, SamplePool } from "../model.ts";
import { Plot, type PlotContent } from "../plot.ts";
import type { Episode } from "../protocol.ts";

/** A plot of data from the model. */
export interface PlotPanel {
  readonly plot: Plot;
  draw(model: Model): void;
  /** Returns whether there is data to plot. */
  has(model: Model): boolean;
}

/** Returns all plots in their order on the page. */
export function plotPanels(): readonly PlotPanel[] {
  return [
    histogram("Priorities", "priority", ({ priorities }) => priorities),
    histogram("Weights", "priority^exponent", ({ weights }) => weights),
    histogram("Ages", "items that came after", ({ ages, agesIn }) => (agesIn === "items" ? ages : EMPTY)),
    histogram("Ages in episodes", "episodes that began after", ({ ages, agesIn }) => (agesIn === "episodes" ? ages : EMPTY)),
    histogram("Times sampled", "draws of an item", ({ timesSampled }) => timesSampled),
    timesOverAges(),
    timeLine(),
  ];
}

const EMPTY = new Float64Array(0);

function histogram(title: string, x: string, valuesOf: (samplePool: SamplePool) => Float64Array): PlotPanel {
  const plot = new Plot({ title, kind: "bars", x, y: "items", series: ["items"] });
  let has = false;
  return {
    plot,
    has: () => has,
    draw(model) {
      const samplePool = model.samplePool();
      const bins = binsOf(valuesOf(samplePool));
      has = bins.n > 0;
      if (has) plot.show(barsOf(bins, samplePool));
    },
  };
}

/** Returns a histogram, with a sentence that describes it. */
export function barsOf(bins: Bins, { isWhole }: Pick<SamplePool, "isWhole">): PlotContent {
  const { edges, counts, isLog, n, min, max, mean } = bins;
  const of = isWhole ? countText(n, "item") : `a sample of ${numberText(n)}`;
  const at = (edge: number) => numberText(isLog ? 10 ** edge : edge);
  return {
    x: edges.slice(0, -1),
    ys: [counts],
    range: [edges[0] as number, edges.at(-1) as number],
    isLog,
    summary: `${numberText(min)} … ${numberText(max)}, mean ${numberText(mean)} of ${of}`,
    rows: () => counts.map((count, i) => [`${at(edges[i] as number)} … ${at(edges[i + 1] as number)}`, numberText(count)]),
  };
}

function timesOverAges(): PlotPanel {
  const plot = new Plot({ title: "Times sampled over the store", kind: "bars", x: "age, newest first", y: "mean draws", series: ["mean draws"] });
  let has = false;
  return {
    plot,
    has: () => has,
    draw(model) {
      const { ages, agesIn, timesSampled } = model.samplePool();
      const { edges, means } = meansOf(ages, timesSampled);
      has = edges.length > 1;
      if (!has) return;
      const values = means.map((mean) => (Number.isNaN(mean) ? null : mean));
      const finite = means.filter((mean) => !Number.isNaN(mean));
      const [first = Number.NaN] = finite;
      plot.show({
        x: edges.slice(0, -1),
        ys: [values],
        range: [edges[0] as number, edges.at(-1) as number],
        summary: `Draws per item: newest ${numberText(first)}, oldest ${numberText(finite.at(-1) ?? Number.NaN)}; age in ${agesIn}`,
        rows: () => means.map((mean, i) => [`${numberText(edges[i] as number)} … ${numberText(edges[i + 1] as number)}`, numberText(mean)]),
      });
    },
  };
}

/** The number of newest episodes that the summary combines. */
const SUMMARY_EPISODES = 20;

function timeLine(): PlotPanel {
  const plot = new Plot({ title: "Episodes", kind: "points", x: "episode", y: "return", series: ["return", "steps and end"], height: 180 });
  plot.root.classList.add("wide");
  return {
    plot,
    has: ({ episodes }) => episodes.length > 0,
    draw({ episodes }) {
      if (episodes.length > 0) plot.show(lineOf(episodes));
    },
  };
}

/** Returns episodes by number: their returns, or their lengths if there are no returns. */
export function lineOf(episodes: readonly Episode[]): PlotContent {
  const hasReturns = episodes.some((episode) => !Number.isNaN(episode.return));
  const value = (episode: Episode) => (hasReturns ? episode.return : episode.length);
  const last = episodes.slice(-SUMMARY_EPISODES);
  const mean = (of: (episode: Episode) => number) => numberText(last.reduce((sum, episode) => sum + of(episode), 0) / last.length);
  const valueText = hasReturns ? `return ${mean((episode) => episode.return)}, ` : "the spec has no reward: lengths are plotted; ";
  return {
    x: episodes.map(({ number }) => number),
    ys: [episodes.map(value)],
    summary: `${countText(episodes.length, "episode")} seen from start to end, mean of the last ${last.length}: ${valueText}${mean(({ length }) => length)} steps`,
    rows: () => [...episodes].reverse().map((episode) => [String(episode.number), numberText(episode.return), `${numberText(episode.length)}, ${episode.end}`]),
  };
}
