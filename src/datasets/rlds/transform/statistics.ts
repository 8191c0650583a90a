/** Computes statistics of a dataset, including those of `rlds.transformations.mean_and_std`. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import { isText } from "../../../schema/leaf.ts";
import { valueAt } from "../../../schema/nest.ts";
import type { RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { episodesOf } from "../../model/derive.ts";
import { everyElement, flagOf, numberOf } from "../../model/elements.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { statedFinalStep } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf, sameSpec } from "../../model/leaves.ts";
import { forEach } from "../../model/maybe-async.ts";
import { type Place, RldsError } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { stepSpecOf } from "../../model/step-spec.ts";
import { abortable, checkEpisode, Pace, type PassOptions } from "../../model/traversal.ts";
import { BigMoments, Moments } from "./moments.ts";

/** The statistics of one leaf. They are NaN if there are no values. The deviation is also NaN for a single value. */
export interface LeafStatistics {
  /** The path of the leaf, for example `observation/state`. */
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The number of steps whose values are included. */
  readonly count: number;
  /** The number of elements that are NaN or infinite. */
  readonly nonFinite: number;
  /** The minimum over all elements. It is a bigint if the leaf has bigints. */
  readonly min: number | bigint;
  readonly max: number | bigint;
  readonly mean: number;
  /** The sample standard deviation, with the number of values minus one as the divisor. */
  readonly std: number;
  /** The statistics per element, in flat arrays. */
  readonly elements: {
    readonly min: ArrayLike<number> | ArrayLike<bigint>;
    readonly max: ArrayLike<number> | ArrayLike<bigint>;
    readonly mean: Float64Array;
    readonly std: Float64Array;
  };
}

/** The distribution of a value per episode. */
export interface Distribution {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
  /** The values, one per episode in order, for example for `histogram`. */
  readonly values: readonly number[];
}

export interface DatasetStatistics {
  readonly episodes: number;
  readonly steps: number;
  /** The number of transitions, which are all steps except final observations. */
  readonly transitions: number;
  /** The distribution of the number of steps per episode. */
  readonly lengths: Distribution;
  /** The distribution of the sum of the rewards per episode, without final observations. NaN if rewards are not single numbers. */
  readonly returns: Distribution;
  /** The statistics of the leaves, in the order of the spec. */
  readonly leaves: readonly LeafStatistics[];
}

export interface StatisticsOptions extends PassOptions {
  /** The paths of leaves or of groups of leaves, such as `["observation", "reward"]`. Default: all leaves except text. */
  readonly paths?: readonly string[];
}

/** The fields that have no meaning in a final observation. */
const OUTCOMES: readonly string[] = ["action", "reward", "discount"];

/**
 * Computes statistics in one pass over the dataset.
 *
 * Actions, rewards and discounts of final observations are ignored, as in `rlds.transformations.sar_fields_mask`. A step with `is_last` is a final
 * observation, unless its episode states in `final_step` that it ends with a transition. Sums are computed in f64, in the order of the steps.
 *
 * To normalise observations, use `const [{elements: {mean, std}}] = (await statistics(rlds, {paths: ["observation"]})).leaves` and then `mapSteps(rlds, (step)
 * => ({...step, observation: step.observation.map((x, i) => (x - mean[i]) / std[i])}))`. Keeps six numbers per element of a step and two per episode in memory.
 * Costs O(elements).
 * @throws TypeError, RangeError if an argument is invalid, or if a path is not a leaf of numbers
 * @throws RldsError SPEC_MISMATCH if a value does not match the spec
 * @throws the errors of the source
 * @throws the signal's reason if the signal aborts
 */
export async function statistics<S = RldsStep>(rlds: RldsDataset<S>, options: StatisticsOptions = {}): Promise<DatasetStatistics> {
  const { paths, signal } = onlyKeys("options", options, "paths, signal, onProgress");
  const lengths: number[] = [];
  const returns: number[] = [];
  let transitions = 0;
  const pace = new Pace(options);
  const source = episodesOf(rlds) as AsyncIterable<RldsEpisode<S>>;
  let columns = rlds.stepSpec && new Columns(rlds.stepSpec, paths);
  for await (const sourceEpisode of source) {
    const episode = lengths.length;
    const { steps } = checkEpisode(sourceEpisode, episode);
    const hasFinal = statedFinalStep(sourceEpisode) !== "transition";
    let length = 0;
    let sum = 0;
    let endsWithFinal = false;
    if (steps instanceof StepColumns) columns ??= new Columns(steps.spec, paths);
    if (columns !== undefined && steps instanceof StepColumns && sameSpec(columns.spec, steps.spec)) {
      length = steps.length;
      sum = columns.addColumns(steps, hasFinal);
      endsWithFinal = hasFinal && lastFlagOf(steps) === true;
    } else {
      const pending = forEach(abortable(steps, signal), (step) => {
        columns ??= new Columns(rlds.stepSpec ?? stepSpecOf(step, { episode, step: 0 }), paths);
        endsWithFinal = hasFinal && flagOf((step as Partial<RldsStep>)?.is_last) === true;
        sum += columns.add(step as RldsStep, endsWithFinal, { episode, step: length++ });
      });
      if (pending !== undefined) await pending;
    }
    lengths.push(length);
    returns.push(sum);
    transitions += length - Number(endsWithFinal);
    const pause = pace.after(length);
    if (pause !== undefined) await pause;
  }
  const steps = lengths.reduce((a, b) => a + b, 0);
  return {
    episodes: lengths.length,
    steps,
    transitions,
    lengths: distribution(lengths),
    returns: distribution(returns),
    leaves: columns?.result ?? [],
  };
}

function distribution(values: readonly number[]): Distribution {
  const moments = new Moments(1);
  for (let i = 0; i < values.length; i++) moments.add(values, i);
  return { ...moments.overall, values };
}

interface LeafMoments extends LeafEntry {
  /** The index among all leaves. */
  readonly index: number;
  readonly moments: Moments | BigMoments;
  readonly isOutcome: boolean;
  /** A reusable row for values that are not flat arrays. */
  readonly row: (number | bigint)[];
}

class Columns {
  readonly spec: StepSpec;
  readonly #leaves: readonly LeafMoments[];
  readonly #at: { readonly [field: string]: number };

  constructor(spec: StepSpec, paths: readonly string[] | undefined) {
    this.spec = spec;
    const all = leavesOf(spec);
    this.#at = Object.fromEntries(all.map(({ path, size }, index) => [path, size === 1 ? index : -1]));
    const numeric = all.map((leaf, index) => ({ ...leaf, index })).filter(({ leaf }) => !isText(leaf));
    const isInPath = (path: string, prefix: string) => path === prefix || path.startsWith(`${prefix}/`);
    for (const path of paths ?? [])
      if (!numeric.some((leaf) => isInPath(leaf.path, path))) {
        const known = numeric.map((leaf) => leaf.path);
        throw mustBe(RangeError, "a path in paths", `one of ${known.join(", ")}, or a group of them`, path, known);
      }
    this.#leaves = numeric
      .filter(({ path }) => paths === undefined || paths.some((prefix) => isInPath(path, prefix)))
      .map((leaf) => ({
        ...leaf,
        moments: leaf.leaf.dtype === "i64" || leaf.leaf.dtype === "u64" ? new BigMoments(leaf.size) : new Moments(leaf.size),
        isOutcome: OUTCOMES.includes(leaf.keys[0] as string),
        row: [],
      }));
  }

  /** Adds a step. @returns the reward, or 0 for a final observation, whose reward does not count */
  add(step: RldsStep, isFinal: boolean, place: Place): number {
    for (const leaf of this.#leaves) {
      if (isFinal && leaf.isOutcome) continue;
      leaf.moments.add(rowOf(leaf, valueAt(step, leaf.keys), place) as never, 0);
    }
    return isFinal ? 0 : numberOf(step?.reward);
  }

  /** Adds the steps of an episode. @param hasFinal whether a step with `is_last` is a final observation @returns the sum of the rewards that count */
  addColumns({ data, length }: StepColumns<unknown>, hasFinal: boolean): number {
    const column = (name: string) => data[this.#at[name] ?? -1] as ArrayLike<number> | undefined;
    const last = hasFinal ? column("is_last") : undefined;
    const reward = column("reward");
    for (const { index, moments, isOutcome, size } of this.#leaves)
      for (let i = 0; i < length; i++) if (!(isOutcome && last?.[i])) moments.add(data[index] as never, i * size);
    let sum = 0;
    for (let i = 0; i < length; i++) if (!last?.[i]) sum += reward === undefined ? Number.NaN : Number(reward[i]);
    return sum;
  }

  get result(): LeafStatistics[] {
    return this.#leaves.map(({ path, leaf, moments }) => {
      const { count, nonFinite, overall, elements } = moments;
      return { path, dtype: leaf.dtype, shape: leaf.shape, count, nonFinite, ...overall, elements };
    });
  }
}

/** Returns the elements of a value as a row. @throws RldsError SPEC_MISMATCH if the value does not match the leaf */
function rowOf({ path, leaf, size, row, moments }: LeafMoments, value: unknown, place: Place): ArrayLike<unknown> {
  const isBig = moments instanceof BigMoments;
  if (ArrayBuffer.isView(value) && (value as Uint8Array).length === size && typeof (value as Uint8Array)[0] === (isBig ? "bigint" : "number"))
    return value as Uint8Array;
  row.length = 0;
  const isRow = everyElement(value, (element) => {
    if (typeof element === "bigint" || typeof element === "boolean" || typeof element === "number") row.push(isBig ? toBig(element) : Number(element));
    return row.length > 0 && row.length <= size && (!isBig || typeof row[row.length - 1] === "bigint");
  });
  if (isRow && row.length === size) return row;
  throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, path, `${leaf.dtype} of shape [${leaf.shape.join(", ")}]`, value).message, place);
}

function toBig(value: number | bigint | boolean): bigint | number {
  return typeof value === "bigint" ? value : Number.isSafeInteger(Number(value)) ? BigInt(value) : Number.NaN;
}
