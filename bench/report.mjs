/** Formats the results of the cases as rows for the terminal. */
import { arch, cpus, totalmem } from "node:os";

const WIDTHS = [56, 12, 12, 9, 10];

function machine() {
  const [{ model }] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Node ${process.versions.node}, V8 ${process.versions.v8}, ${arch()}, ${cpus().length} × ${model.trim()}, ${memory} GiB`;
}

/** Returns the machine and versions, then the head of the table. */
export function headOf() {
  return `${machine()}\n\n${line(["", "ours", "rival", "unit", "ratio"])}  at least`;
}

/** Returns the machine and versions, then the head of the table for a comparison with another build. */
export function againstHeadOf() {
  return `${machine()}\n\n${line(["", "this build", "other", "unit", "ratio"])}${"of launches".padStart(15)}${"spread".padStart(9)}${"other / itself".padStart(16)}`;
}

export function againstLineOf({ name, ours, rival, unit, ratio, ratios, spread, selves, verdict }) {
  const range = (values) => values.map((value) => value.toFixed(3)).join(" – ");
  const shown = line([name, figure(ours), figure(rival), unit, `${ratio.toFixed(3)} ×`]);
  return `${shown}${range(ratios).padStart(15)}${`${(100 * spread).toFixed(1)} %`.padStart(9)}${range(selves).padStart(16)}  ${verdict}`.trimEnd();
}

/** Returns a row, including whether it meets its limit, if any. */
export function lineOf({ name, ours, rival, rivalName, unit, ratio }, limit) {
  const verdict = limit === undefined ? "" : `${figure(limit)} ${ratio >= limit ? "reached" : "NOT REACHED"}`;
  return `${line([name, figure(ours), figure(rival), unit, `${figure(ratio)} ×`])}  ${verdict.padEnd(18)}${rivalName}`;
}

function figure(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

function line([name, ...rest]) {
  return [name.padEnd(WIDTHS[0]), ...rest.map((cell, i) => cell.padStart(WIDTHS[i + 1]))].join("");
}
