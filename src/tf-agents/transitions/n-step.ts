/** Computes transitions over several steps, and discounted sums of rewards. Modelled on `to_n_step_transition` and `value_ops` of TF-Agents. */

import { described, finite, flag, mustBe, onlyKeys } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { sizeOf } from "../../schema/leaf.ts";
import { StepType } from "../time-step.ts";
import { blankLike, copyRows, eachColumn, leading, type Numbers, numbersIn, stepsOf, type WithoutTime } from "./columns.ts";
import { outerShapeOf, type StepColumns, type TrajectoryBatch, type Transition } from "./transition.ts";

const { LAST } = StepType;

/**
 * Returns, for each row of a trajectory [B, T], one transition over its T - 1 steps: reward r_0 + γ d_0 r_1 + γ² d_0 d_1 r_2 + …, discount γ^(T - 2) d_0 d_1 …,
 * and the last observation. Rewards of another episode never count. If an episode ends within the trajectory, the transition ends with its last observation,
 * after fewer steps. Costs O(bytes).
 * @param gamma the discount per step. The learner multiplies the discount of the result by gamma once more
 * @returns the transitions, [B, …]. The reward and the discount of `timeStep` are unknown, and are NaN
 * @throws RangeError if the discount does not have the rank of [B, T]
 * @throws ReplayError SPEC_MISMATCH if there are fewer than two steps
 * @throws the errors of toTransition
 */
export function toNStepTransition<O, A, P>(
  trajectory: TrajectoryBatch<O, A, P>,
  gamma: number,
): Transition<StepColumns<WithoutTime<O>>, WithoutTime<A>, WithoutTime<P>, StepColumns<WithoutTime<O>>, readonly []> {
  const outerShape = outerShapeOf("trajectory", trajectory, 2, 2);
  const [rows = 0, steps = 0] = outerShape;
  finite("gamma", gamma);
  if (steps < 2) throw mustBe("SPEC_MISMATCH", "trajectory", "a trajectory of at least 2 steps", steps);
  const stepType = leading("trajectory.stepType", trajectory.stepType, outerShape, "i32");
  const nextStepType = leading("trajectory.nextStepType", trajectory.nextStepType, outerShape, "i32");
  const reward = floats("trajectory.reward", leading("trajectory.reward", trajectory.reward, outerShape), outerShape);
  const discount = floats("trajectory.discount", leading("trajectory.discount", trajectory.discount, outerShape), outerShape);
  const sums = blankLike(reward.data, rows) as Float64Array<ArrayBuffer>;
  const factors = blankLike(discount.data, rows) as Float64Array<ArrayBuffer>;
  /** The step with the last observation of each row. */
  const lasts = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) {
    let sum = 0;
    // The next reward has two factors: the product of the discounts (`remaining`) and the power of γ (`power`).
    let remaining = 1;
    let power = 1;
    let t = 0;
    for (; t < steps - 1; t++) {
      const at = row * steps + t;
      if (t > 0) power *= gamma;
      sum += power * remaining * Number(reward.data[at]);
      remaining *= Number(discount.data[at]);
      // If the remaining factor is 0, the learner ignores the last observation. The observation of the last step is then used, as for rows without an end.
      const isEnd = Number(stepType.data[at]) === LAST || Number(nextStepType.data[at]) === LAST;
      if (isEnd && remaining !== 0) break;
    }
    sums[row] = sum;
    factors[row] = power * remaining;
    lasts[row] = Math.min(t + 1, steps - 1);
  }
  const begin = (subject: string, nest: unknown) => eachColumn(subject, nest, outerShape, (column) => stepsOf(column, 0, 1, true));
  const end = (subject: string, nest: unknown) => eachColumn(subject, nest, outerShape, (column) => stepAt(column, lasts));
  const nans = (data: Column["data"]) => new Column((blankLike(data, rows) as Float64Array<ArrayBuffer>).fill(Number.NaN), [rows]) as Column;
  return {
    timeStep: {
      stepType: stepsOf(stepType, 0, 1, true),
      reward: nans(reward.data),
      discount: nans(discount.data),
      observation: begin("trajectory.observation", trajectory.observation),
    },
    actionStep: { action: begin("trajectory.action", trajectory.action), state: [], info: begin("trajectory.policyInfo", trajectory.policyInfo) },
    nextTimeStep: {
      stepType: stepAt(stepType, lasts),
      reward: new Column(sums, [rows]) as Column,
      discount: new Column(factors, [rows]) as Column,
      observation: end("trajectory.observation", trajectory.observation),
    },
  } as unknown as ReturnType<typeof toNStepTransition<O, A, P>>;
}

export interface DiscountedReturnOptions {
  /** The value after the last step, as one number per row or one number for all rows. Default: 0. */
  readonly finalValue?: Numbers;
  /** Whether time comes before the batch. Default: true. */
  readonly timeMajor?: boolean;
  /** Whether to return the sums that start at each step, rather than only the sum that starts at the first step. Default: true. */
  readonly provideAllReturns?: boolean;
}

/**
 * Returns discounted sums of rewards: R_t = r_t + d_t R_(t+1). Costs O(steps).
 * @param rewards the rewards, [T, B] or [T], or [B, T] if `timeMajor` is false
 * @returns the sums, in the shape of `rewards`, or without the time dimension
 * @throws RangeError if `rewards` has another rank
 * @throws ReplayError SPEC_MISMATCH if the discounts have another shape, or if there are no steps
 */
export function discountedReturn(rewards: Numbers, discounts: Numbers, options: DiscountedReturnOptions = {}): Column {
  const { finalValue = 0, timeMajor = true, provideAllReturns = true } = onlyKeys("options", options, "finalValue, timeMajor, provideAllReturns");
  flag("timeMajor", timeMajor);
  flag("provideAllReturns", provideAllReturns);
  const { data, shape } = numbersIn("rewards", rewards, "f32");
  if (shape.length < 1 || shape.length > 2) throw mustBe(RangeError, "rewards", "of shape [time] or [time, batch]", described(`[${shape.join(", ")}]`));
  floats("rewards", new Column(data, shape), shape);
  const factors = floats("discounts", numbersIn("discounts", discounts, "f32"), shape).data;
  const majors = timeMajor || shape.length === 1;
  const [steps = 0, rows = 1] = majors ? shape : [shape[1], shape[0]];
  if (steps === 0) throw mustBe("SPEC_MISMATCH", "rewards", "a column of at least one step", described(`[${shape.join(", ")}]`));
  const finals = numbersIn("finalValue", finalValue, "f32");
  if (finals.data.length !== 1 && (finals.data.length !== rows || finals.shape.length > 1))
    throw mustBe("SPEC_MISMATCH", "finalValue", `a number, or of shape [${rows}]`, described(`[${finals.shape.join(", ")}]`));
  const returns = blankLike(data, provideAllReturns ? data.length : rows) as Float64Array<ArrayBuffer>;
  const [byStep, byRow] = majors ? [rows, 1] : [1, steps];
  for (let row = 0; row < rows; row++) {
    let sum = Number(finals.data[finals.data.length === 1 ? 0 : row]);
    for (let t = steps - 1; t >= 0; t--) {
      const at = t * byStep + row * byRow;
      sum = sum * Number(factors[at]) + Number(data[at]);
      if (provideAllReturns) returns[at] = sum;
    }
    if (!provideAllReturns) returns[row] = sum;
  }
  return new Column(returns, provideAllReturns ? [...shape] : shape.length === 1 ? [] : [rows]) as Column;
}

/** Returns step `steps[row]` of each row of [B, T, …]. */
function stepAt(column: Column, steps: Uint32Array): Column {
  const [rows = 0, time = 0, ...rest] = column.shape;
  const stepSize = sizeOf(rest);
  const data = blankLike(column.data, rows * stepSize);
  for (let row = 0; row < rows; row++)
    copyRows(column.data, data, { rows: 1, from: (row * time + (steps[row] as number)) * stepSize, stride: 0, to: row * stepSize, rowSize: stepSize });
  return new Column(data, [rows, ...rest]);
}

/** Returns the column if it contains floats and has the given shape. @throws SPEC_MISMATCH for integers, text, or another shape; RangeError for another rank */
function floats(subject: string, column: Column, shape: readonly number[]): Column {
  if (column.shape.length !== shape.length)
    throw mustBe(RangeError, subject, `a column with ${shape.length} dimensions`, described(`[${column.shape.join(", ")}]`));
  if (column.shape.join() !== shape.join()) throw mustBe("SPEC_MISMATCH", subject, `of shape [${shape.join(", ")}]`, described(`[${column.shape.join(", ")}]`));
  if (!(column.data instanceof Float32Array || column.data instanceof Float64Array))
    throw mustBe("SPEC_MISMATCH", subject, "a column of f32 or f64", column.data);
  return column;
}
