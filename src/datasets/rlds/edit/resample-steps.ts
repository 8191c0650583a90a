/** Resamples steps to another rate. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import { type AnyArray, DTYPES, type Dtype, isFloat, type NumberArray } from "../../../schema/dtype.ts";
import { blank, isText } from "../../../schema/leaf.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { finalStepOf } from "../../model/final-step.ts";
import { isLazy } from "../../model/lazy-column.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { castElements } from "./cast-leaves.ts";
import { slashed } from "./leaf-paths.ts";
import { type ColumnDataset, type ColumnEpisode, mapColumns } from "./map-columns.ts";

export interface ResampleOptions {
  /** The number of steps per second in the result. */
  readonly fps: number;
  /** The path of the leaf that contains the time of a step, which is a single float, in seconds. Default: `timestamp`, if the steps have such a leaf. */
  readonly timestamp?: string;
  /** The number of steps per second in the data, if no leaf contains the times. */
  readonly sourceFps?: number;
}

/** The maximum number of steps in a resampled episode, unless its source has more. If there are more, the timestamps are treated as faulty. */
const MAX_STEPS = 2 ** 24;
/** The tolerance of a time, in steps. Many files store times as f32. */
const TOLERANCE = 1e-3;

interface TimePlan {
  /** The index of the leaf with the times, or -1. */
  readonly column: number;
  readonly leaves: readonly LeafEntry[];
  readonly fps: number;
  readonly sourceFps: number | undefined;
}

/**
 * Returns the same episodes at another rate. The new step k is the step whose time is nearest to k / fps after the first step. The first and the last step are
 * kept. Other steps are left out or repeated as needed.
 *
 * The return of an episode does not change. The rewards of steps that are left out are added to the reward of the step before them. If a step is repeated, only
 * its last copy has its reward. Discounts are handled in the same way, but multiplied. The leaf with the times receives the new times. Works lazily, and keeps
 * one episode in memory. Costs O(elements).
 * @throws TypeError, RangeError if an option is invalid
 * @throws RangeError during iteration if the times are unknown
 * @throws RldsError INVALID_DATA during iteration if times decrease or are not finite, or if an episode would have more than 2^24 steps
 */
export function resampleSteps(rlds: RldsDataset<unknown>, options: ResampleOptions): ColumnDataset {
  const { fps, timestamp, sourceFps } = onlyKeys("options", options, "fps, timestamp, sourceFps");
  for (const [name, value] of Object.entries({ fps, ...(sourceFps !== undefined && { sourceFps }) })) {
    if (typeof value !== "number") throw mustBe(TypeError, name, "a number of steps per second", value);
    if (!(value > 0 && value < 1e6)) throw mustBe(RangeError, name, "above 0 and below a million", value);
  }
  if (timestamp !== undefined && typeof timestamp !== "string") throw mustBe(TypeError, "timestamp", "the path of a leaf", timestamp);
  return mapColumns(rlds, {
    begin(spec) {
      const leaves = leavesOf(spec);
      const plan = { column: timeColumn(leaves, timestamp, sourceFps), leaves, fps, sourceFps };
      return (episode, index) => ({ ...episode, steps: resample(episode, plan, spec, index) });
    },
  });
}

/** Returns the index of the leaf with the times, or -1 if `sourceFps` determines the times. @throws RangeError if the times are unknown */
function timeColumn(leaves: readonly LeafEntry[], timestamp: string | undefined, sourceFps: number | undefined): number {
  const path = slashed(timestamp ?? "timestamp");
  const column = leaves.findIndex((leaf) => leaf.path === path && leaf.size === 1 && isFloat(leaf.leaf.dtype));
  if (column >= 0) return column;
  const floats = leaves.filter(({ leaf, size }) => size === 1 && isFloat(leaf.dtype)).map((leaf) => leaf.path);
  if (timestamp !== undefined) throw mustBe(RangeError, "timestamp", `the path of a single float (${floats.join(", ") || "there is none"})`, timestamp, floats);
  if (sourceFps === undefined)
    throw new RangeError(
      "resampleSteps needs the times of the steps, but the steps have no leaf named timestamp. Set timestamp to the path of a leaf, or set sourceFps",
    );
  return -1;
}

function resample(episode: ColumnEpisode, plan: TimePlan, spec: StepSpec, index: number): StepColumns<unknown> {
  const { steps } = episode;
  const { length } = steps;
  if (length === 0) return steps;
  const times = timesOf(steps, plan, index);
  const isFinal = finalStepOf(episode, lastFlagOf(steps) === true) === "observation";
  const rows = nearestRows(times, plan.fps, isFinal, index);
  const data = steps.parts.map((column, k) => {
    const leaf = plan.leaves[k] as LeafEntry;
    if (k === plan.column) return newTimes(column, rows.length, plan.fps, leaf);
    return columnAt(column, leaf, { rows, length, index });
  });
  return new StepColumns(spec, data, rows.length);
}

/** Returns the times in seconds. @throws RldsError INVALID_DATA if a time is not finite or is less than the previous time */
function timesOf(steps: StepColumns<unknown>, { column, sourceFps, leaves }: TimePlan, episode: number): Float64Array {
  if (column < 0) return Float64Array.from({ length: steps.length }, (_, i) => i / (sourceFps as number));
  const times = Float64Array.from(steps.data[column] as ArrayLike<number>);
  const step = times.findIndex((time, i) => !Number.isFinite(time) || (i > 0 && time < (times[i - 1] as number)));
  if (step < 0) return times;
  const rule = step === 0 ? "finite" : `at least ${times[step - 1]}, the time of the step before it`;
  throw new RldsError("INVALID_DATA", mustBe(RangeError, leaves[column]?.path ?? "", rule, times[step]).message, { episode, step });
}

/** Returns the source row of each new step. @throws RldsError INVALID_DATA if there would be too many steps */
function nearestRows(times: Float64Array, fps: number, isFinal: boolean, episode: number): Uint32Array {
  const { length } = times;
  const [first, last] = [times[0] as number, times[length - 1] as number];
  // A remainder of less than half a step is dropped.
  const count = Math.max(Math.ceil((last - first) * fps - 0.5 - TOLERANCE), length > 1 ? 1 : 0) + 1;
  if (count > Math.max(MAX_STEPS, length))
    throw new RldsError(
      "INVALID_DATA",
      `the episode lasts ${last - first} s and would have ${count} steps at fps ${fps}, more than ${MAX_STEPS}. Pass a smaller fps`,
      {
        episode,
      },
    );
  const rows = new Uint32Array(count);
  // A final observation is never repeated.
  const latest = isFinal ? Math.max(length - 2, 0) : length - 1;
  let row = 0;
  for (let k = 1; k < count - 1; k++) {
    const time = first + k / fps;
    while (row < latest && Math.abs((times[row + 1] as number) - time) < Math.abs((times[row] as number) - time)) row++;
    rows[k] = row;
  }
  rows[count - 1] = length - 1;
  return rows;
}

function newTimes(column: ColumnData, count: number, fps: number, { leaf }: LeafEntry): ColumnData {
  const first = Number((column as ArrayLike<number>)[0]);
  const times = Float64Array.from({ length: count }, (_, k) => first + k / fps);
  return castElements(times, leaf.dtype as Dtype, (_, rule, value) => mustBe(RangeError, "timestamp", rule, value));
}

interface Rows {
  readonly rows: Uint32Array;
  /** The number of steps in the source episode. `index` is the number of the episode. */
  readonly length: number;
  readonly index: number;
}

function columnAt(column: ColumnData, leaf: LeafEntry, all: Rows): ColumnData {
  const { keys, size } = leaf;
  const [field] = keys;
  if (field === "reward" && !isText(leaf.leaf)) return sums(column as AnyArray, leaf, all);
  if (field === "discount" && !isText(leaf.leaf)) return products(column as AnyArray, leaf, all);
  const { rows } = all;
  const values = pick(column, leaf, rows);
  if (keys.length > 1 || !["is_first", "is_last", "is_terminal"].includes(field as string)) return values;
  // Only one copy of a repeated step may be the first or the last step.
  const flags = values as NumberArray;
  const zero = DTYPES[leaf.leaf.dtype as Dtype]?.big ? 0n : 0;
  if (field === "is_first") flags.fill(zero as number, size);
  else flags.fill(zero as number, 0, size * (rows.length - 1));
  return flags as unknown as ColumnData;
}

function pick(column: ColumnData, { leaf, size }: LeafEntry, rows: Uint32Array): ColumnData {
  if (isLazy(column)) return column.pick(rows) as unknown as ColumnData;
  const picked = blank(leaf, size * rows.length) as unknown[];
  const from = column as ArrayLike<unknown>;
  rows.forEach((row, k) => {
    for (let i = 0; i < size; i++) picked[k * size + i] = from[row * size + i];
  });
  return picked as unknown as ColumnData;
}

/** Returns the end, exclusive, of the source steps that are merged into step k. The range is empty if the next step repeats the same source step. */
function endOf({ rows, length }: Rows, k: number): number {
  return k + 1 < rows.length ? (rows[k + 1] as number) : length;
}

function sums(column: AnyArray, { leaf, path, size }: LeafEntry, all: Rows): ColumnData {
  const big = DTYPES[leaf.dtype as Dtype].big;
  const total = new Array<number | bigint>(size * all.rows.length).fill(big ? 0n : 0);
  all.rows.forEach((row, k) => {
    for (let step = row; step < endOf(all, k); step++)
      for (let i = 0; i < size; i++) total[k * size + i] = ((total[k * size + i] as number) + (column[step * size + i] as number)) as number;
  });
  const fail = (i: number, rule: string, value: unknown) =>
    new RldsError("INVALID_DATA", mustBe(RangeError, `the sum of ${path}`, [rule, `Cast ${path} to another dtype first`], value).message, {
      episode: all.index,
      step: all.rows[Math.floor(i / size)] as number,
    });
  return castElements(total, leaf.dtype as Dtype, fail);
}

function products(column: AnyArray, { leaf, size }: LeafEntry, all: Rows): ColumnData {
  const big = DTYPES[leaf.dtype as Dtype].big;
  const total = new Array<number | bigint>(size * all.rows.length).fill(big ? 1n : 1);
  all.rows.forEach((row, k) => {
    for (let step = row; step < endOf(all, k); step++)
      for (let i = 0; i < size; i++) total[k * size + i] = ((total[k * size + i] as number) * (column[step * size + i] as number)) as number;
  });
  return castElements(
    total,
    leaf.dtype as Dtype,
    (_, rule, value) => new RldsError("INVALID_DATA", mustBe(RangeError, "discount", rule, value).message, { episode: all.index }),
  );
}
