/** Plots the numbers of an episode over its steps, one plot per leaf. */
import { h } from "../../parts/element.ts";
import { plot } from "../../parts/plot.ts";
import type { EpisodeData } from "../messages.ts";
import type { LeafColumn } from "../model/columns.ts";
import { kindOf } from "../model/leaf-kinds.ts";
import type { StepView } from "./player.ts";

/** The maximum number of lines per plot, and the number of plots shown initially. */
const LINES = 8;
const PLOTS = 6;
const FLAGS = ["is_first", "is_last", "is_terminal"];

interface LeafPlot {
  readonly element: HTMLElement;
  mark(step: number): void;
}

/** @param pick receives the step that was clicked */
export function leafPlots({ columns, length }: EpisodeData, pick: (step: number) => void, signal: AbortSignal): StepView {
  const numbers = columns.filter((column) => kindOf(column) === "numbers" && column.size > 0 && !FLAGS.includes(column.path));
  const steps = Float64Array.from({ length }, (_, i) => i);
  const made: LeafPlot[] = [];
  let at = 0;
  const add = (into: HTMLElement, some: readonly LeafColumn[]) => {
    for (const column of some) {
      const one = plotOf(column, steps, pick, signal);
      made.push(one);
      into.append(one.element);
      one.mark(at);
    }
  };
  const element = h("div", { class: "leaf-plots" });
  add(element, numbers.slice(0, PLOTS));
  const rest = numbers.slice(PLOTS);
  if (rest.length > 0) {
    const more = h("button", { type: "button" }, `Show ${rest.length} more ${rest.length === 1 ? "leaf" : "leaves"}`);
    more.addEventListener("click", () => {
      more.remove();
      add(element, rest);
    });
    element.append(more);
  }
  return {
    element,
    show(step) {
      at = step;
      for (const one of made) one.mark(step);
    },
  };
}

function plotOf(column: LeafColumn, steps: Float64Array, pick: (step: number) => void, signal: AbortSignal): LeafPlot {
  const { path, size, data, shape, dtype } = column;
  const shown = Math.min(size, LINES);
  const lines = Array.from({ length: shown }, (_, i) => ({ label: size === 1 ? path : `[${i}]`, colour: `--line-${i + 1}`, width: 1.25 }));
  const of = size > shown ? `, the first ${shown} of ${size} elements` : "";
  const drawn = plot({ label: `${path} over the steps of the episode${of}`, lines, height: 110, pick }, signal);
  drawn.set([
    steps,
    ...lines.map((_, i) =>
      Array.from(steps, (step) => {
        const value = Number(data[step * size + i]);
        return Number.isFinite(value) ? value : null;
      }),
    ),
  ]);
  const form = `${dtype}${shape.length === 0 ? "" : ` [${shape.join(", ")}]`}`;
  return { element: h("div", { class: "leaf-plot" }, h("h3", {}, path, " ", h("small", {}, `${form}${of}`)), drawn.element), mark: drawn.mark };
}
