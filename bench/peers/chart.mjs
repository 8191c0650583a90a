/**
 * Draws a run as a chart: for each workload, bars of operations per second for Reprise, the limit in C, and the best of the other libraries. Light and dark.
 */
import { best } from "./judge.mjs";
import { figureOf, rateOf } from "./text.mjs";

const WIDTH = 800;
const LEFT = 250;
const RIGHT = 160;
const BAR = 16;
const STEP = 20;
const GAP = 34;
const TOP = 76;

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Returns the variants of a workload that the chart shows. */
function shown({ variants }) {
  const measured = variants.filter(({ skipped }) => skipped === undefined);
  const ours = measured.filter(({ side }) => side === "ours");
  const limit = measured.filter(({ name }) => name === "C, touch" || name === "C, AVX2");
  const peer = best(measured);
  const apart = measured.filter((one) => one.apart !== undefined).sort((a, b) => a.ns - b.ns)[0];
  return [...limit, ...ours, ...(peer === undefined ? [] : [peer]), ...(apart === undefined ? [] : [apart])];
}

const kindOf = ({ side, apart }) => (side === "peer" ? (apart === undefined ? "peer" : "apart") : side === "C" ? "limit" : "ours");

/** The paint of each class, with its color in light and in dark mode. The rules are separate, because librsvg does not support variables. */
const PAINTS = [
  [".paper", "fill", "#ffffff", "#0d1117"],
  [".ours", "fill", "#0969da", "#4493f8"],
  [".peer", "fill", "#bf8700", "#d29922"],
  [".apart", "fill", "#d1d9e0", "#3d444d"],
  [".limit", "stroke", "#818b98", "#6e7681"],
  ["text", "fill", "#1f2328", "#e6edf3"],
  [".dim", "fill", "#59636e", "#9198a1"],
];

/** Returns the CSS rules of a mode. @param mode 0 for light, 1 for dark */
const rules = (mode) => PAINTS.map(([selector, property, ...colours]) => `    ${selector} { ${property}: ${colours[mode]}; }`).join("\n");

export function chart(run) {
  const rates = run.workloads.filter(({ unit }) => unit !== "µs");
  let y = TOP;
  const parts = rates.map((workload) => {
    const bars = shown(workload);
    const most = Math.max(...bars.map((one) => rateOf(workload, one)));
    const lines = [`<text x="20" y="${y}" class="name">${escaped(workload.name)}</text>`];
    for (const [i, one] of bars.entries()) {
      const top = y + 8 + i * STEP;
      const width = Math.max((WIDTH - LEFT - RIGHT) * (rateOf(workload, one) / most), 1).toFixed(1);
      lines.push(
        `<text x="${LEFT - 10}" y="${top + BAR - 4}" class="end">${escaped(one.side === "ours" ? `Reprise, ${one.name}` : one.name)}</text>`,
        `<rect class="${kindOf(one)}" x="${LEFT}" y="${top}" width="${width}" height="${BAR}" rx="2"/>`,
        `<text x="${LEFT + Number(width) + 8}" y="${top + BAR - 4}" class="dim">${escaped(figureOf(workload, one))}</text>`,
      );
    }
    y += 8 + bars.length * STEP + GAP;
    return `<g>\n    ${lines.join("\n    ")}\n  </g>`;
  });
  const height = y - GAP + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title" font-family="system-ui, sans-serif" font-size="13">
  <title id="title">What Reprise, the same work in C, and the best other library do in a second, by workload.</title>
  <style>
${rules(0)}
    @media (prefers-color-scheme: dark) {
${rules(1)}
    }
    .limit { fill: none; stroke-dasharray: 4 3; }
    .dim { font-size: 12px; }
    .end { text-anchor: end; }
    .name { font-weight: 600; }
  </style>
  <rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>
  <text x="20" y="28" class="dim">What is done in a second: more is better. Each workload has its own scale.</text>
  <text x="20" y="46" class="dim">${escaped(run.date)}, ${escaped(run.machine)}</text>
  ${parts.join("\n  ")}
</svg>
`;
}
