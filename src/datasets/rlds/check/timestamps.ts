/** Checks the timestamps of an episode. Each timestamp must exceed the previous one, and the intervals should be even. */
import type { RunningCheck } from "./check-report.ts";

export interface TimestampRules {
  /** The path of the leaf. */
  readonly path: string;
  /** The expected interval, in units of the timestamps. Default: the median of the episode. */
  readonly interval: number | undefined;
  /** The maximum relative deviation from the interval. */
  readonly maxJitter: number;
}

/**
 * Reports timestamps that do not increase and uneven intervals. @param times the timestamps, or their differences from the first timestamp if they are 64-bit
 * integers
 */
export function checkTimestamps(times: readonly number[], episode: number, { path, interval, maxJitter }: TimestampRules, report: RunningCheck): void {
  const intervals = times.slice(1).map((time, i) => time - (times[i] as number));
  // Values that are not numbers are a separate fault.
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
