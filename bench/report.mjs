/** Rows as the terminal shows them. */
import { arch, cpus, totalmem } from "node:os";

const WIDTHS = [50, 12, 12, 9, 8];

/** Machine and versions, then the head of the table. */
export function headOf() {
  const [{ model }] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const machine = `Node ${process.versions.node}, V8 ${process.versions.v8}, ${arch()}, ${cpus().length} × ${model.trim()}, ${memory} GiB`;
  return `${machine}\n\n${line(["", "ours", "rival", "unit", "ratio"])}  at least`;
}

/** A row; where it has a limit, whether that is reached. */
export function lineOf({ name, ours, rival, rivalName, unit, ratio }, limit) {
  const verdict = limit === undefined ? "" : `${limit} ${ratio >= limit ? "reached" : "NOT REACHED"}`;
  return `${line([name, figure(ours), figure(rival), unit, `${figure(ratio)} ×`])}  ${verdict.padEnd(18)}${rivalName}`;
}

function figure(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

function line([name, ...rest]) {
  return [name.padEnd(WIDTHS[0]), ...rest.map((cell, i) => cell.padStart(WIDTHS[i + 1]))].join("");
}
