/** Formats results in the same way for the terminal, the page and the chart. */

const SCALES = [
  [1e9, " G"],
  [1e6, " M"],
  [1e3, " k"],
  [1, ""],
];

/** Formats a number with three significant digits, because more would only show noise. */
export function figure(value) {
  const [scale, letter] = SCALES.find(([least]) => value >= least) ?? [1, ""];
  const shown = value / scale;
  return `${shown >= 100 ? Math.round(shown) : Number(shown.toPrecision(3))}${letter}`;
}

/** Returns the rate of a variant in units of the workload per second. */
export const rateOf = ({ each }, { ns }) => (each * 1e9) / ns;

/** Returns the result of a variant in the unit of its workload: a rate, or the percentiles of a frame. */
export function figureOf(workload, one) {
  if (workload.unit !== "µs") return `${figure(rateOf(workload, one))} ${workload.unit}`;
  const { p50, p99, p999, p9999, collections } = one;
  return `50 % ${figure(p50)}, 99 % ${figure(p99)}, 99.9 % ${figure(p999)}, 99.99 % ${figure(p9999)} µs; garbage collections ${collections}`;
}

export function lineOf(workload, one) {
  const name = `  ${one.name}`.padEnd(34);
  if (one.skipped !== undefined) return `${name}SKIPPED: ${one.skipped}`;
  const memory = one.memory > 0 ? `${figure(one.memory)} bytes per step` : "";
  return `${name}${figureOf(workload, one).padEnd(22)}  ${`${one.bytes} bytes per batch`.padEnd(26)}${memory}${one.apart === undefined ? "" : `  (apart: ${one.apart})`}`.trimEnd();
}

export function verdictOf({ workload, ours, to, wanted, found, holds }) {
  return `${holds ? "holds " : "MISSED"}  ${workload}, ${ours}${to === undefined ? "" : ` : ${to}`}: ${wanted}, found ${found}`;
}
