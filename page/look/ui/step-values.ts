/** Shows every leaf's value at one step, as text. */
import { h } from "../../parts/element.ts";
import { figure } from "../../parts/figures.ts";
import type { EpisodeData } from "../messages.ts";
import type { LeafColumn } from "../model/columns.ts";
import type { StepView } from "./player.ts";

/** The maximum number of elements of a value that are shown, and below, the maximum number of characters of a text. */
const ELEMENTS = 8;
const LETTERS = 300;

export function stepValues({ columns }: EpisodeData): StepView {
  const cells = columns.map((column) => ({ column, cell: h("td", {}) }));
  const rows = cells.map(({ column: { path, dtype, shape }, cell }) =>
    h("tr", {}, h("th", { scope: "row" }, path), h("td", { class: "form" }, `${dtype}${shape.length === 0 ? "" : ` [${shape.join(", ")}]`}`), cell),
  );
  const table = h("table", {}, h("caption", {}, "Values at this step"), h("tbody", {}, ...rows));
  let due = 0;
  return {
    element: h("div", { class: "scroll step-values" }, table),
    show(step) {
      cancelAnimationFrame(due);
      due = requestAnimationFrame(() => {
        for (const { column, cell } of cells) {
          const text = valueText(column, step);
          if (cell.textContent !== text) cell.textContent = text;
        }
      });
    },
  };
}

function valueText({ dtype, size, data }: LeafColumn, step: number): string {
  const element = (value: unknown): string => {
    if (typeof value === "string") return value.length > LETTERS ? `${value.slice(0, LETTERS)} …` : value;
    if (value instanceof Uint8Array) return `${value.length} bytes`;
    if (dtype === "bool") return value ? "true" : "false";
    return typeof value === "number" && /^b?f/.test(dtype) ? figure(value) : String(value);
  };
  const some = Array.from({ length: Math.min(size, ELEMENTS) }, (_, i) => element(data[step * size + i]));
  return `${some.join(", ")}${size > ELEMENTS ? `, … (${size})` : ""}`;
}
