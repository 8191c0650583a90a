/** Timestamps of an episode: each must be above the one before it, and intervals should be even. */
import type { RunningCheck } from "./check-report.ts";

export interface TimestampRules {
  /** The path of the leaf. */
  readonly path: string;
  /** The interval in units of the timestamps; the episode's median if it is left out. */
  readonly interval: number | undefined;
  /** The largest deviation from it, as a share. */
  readonly maxJitter: number;
}

/** @param times differences to the first one if they are whole numbers of 64 bits */
export function checkTimestamps(times: readonly number[], episode: number, { path, interval, maxJitter }: TimestampRules, report: RunningCheck): void {
  const intervals = times.slice(1).map((time, i) => time - (times[i] as number));
  // What is not a number is a fault of its own.
  const positive = intervals.filter((one) => one > 0 && Number.isFinite(one)).sort((a, b) => a - b);
  const usual = interval ?? positive[positive.length >> 1] ?? Number.NaN;
  for (const [i, one] of intervals.entries()) {
    const place = { episode, step: i + 1, path, value: times[i + 1] };
    if (one <= 0) report.fault("timestampRepeats", { ...place, text: one === 0 ? `${path} repeats` : `${path} goes back by ${shortNumber(-one)}` });
    else if (Math.abs(one - usual) > maxJitter * usual)
      report.warn("timestampJitter", { ...place, text: `${path} advances by ${shortNumber(one)}, not ${shortNumber(usual)}` });
  }
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(6)));
}
