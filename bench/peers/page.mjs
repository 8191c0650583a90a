/** Writes the results of a run into README.md, between its marks, and into chart.svg. Both come from the same JSON, stored next to them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chart } from "./chart.mjs";
import { best, judged } from "./judge.mjs";
import { figure, figureOf } from "./text.mjs";
import { thresholds } from "./thresholds.mjs";

/** The run shown in README.md and chart.svg. */
export const KEPT = "run.json";
const [BEGIN, END] = ["<!-- figures: made by --write -->", "<!-- end of the figures -->"];

export function write(folder, run) {
  const file = join(folder, "README.md");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, filled(text, run));
  writeFileSync(join(folder, "chart.svg"), chart(run));
}

/** Returns the page with the results of a run. */
export function filled(text, run) {
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the page has no marks ${BEGIN} and ${END}`);
  return `${text.slice(0, from)}${BEGIN}\n\n${figures(run)}\n\n${text.slice(to)}`;
}

/** Returns tables of measured values, missing values, and targets. */
function figures(run) {
  const head = `![The same figures as bars](chart.svg)\n\n${run.date}, ${run.machine}.`;
  const tables = run.workloads.map((workload) => {
    const fastest = best(workload.variants);
    const rows = workload.variants.map((one) => rowOf(workload, one, fastest));
    return `### ${workload.name}\n\n| variant | figure | of the best peer | bytes per batch | memory per step |\n|---|---|---|---|---|\n${rows.join("\n")}`;
  });
  const verdicts = judged(run.workloads, thresholds).map(
    ({ workload, ours, to, wanted, found, holds }) => `| ${workload} | ${ours} | ${to ?? ""} | ${wanted} | ${found} | ${holds ? "yes" : "**no**"} |`,
  );
  const last = `### Held to\n\n| workload | ours | beside | wanted | found | holds |\n|---|---|---|---|---|---|\n${verdicts.join("\n")}`;
  return [head, ...tables, last].join("\n\n");
}

function rowOf(workload, one, fastest) {
  if (one.skipped !== undefined) return `| ${one.name} | ${one.skipped} | | | |`;
  const ratio = fastest === undefined ? "" : `${Number((fastest.ns / one.ns).toPrecision(3))} ×`;
  const name = one.apart === undefined ? one.name : `${one.name} (${one.apart})`;
  return `| ${name} | ${figureOf(workload, one)} | ${ratio} | ${one.bytes} | ${one.memory > 0 ? figure(one.memory) : ""} |`;
}
