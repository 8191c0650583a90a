/**
 * Defines the output of an environment: a step type, the reward and discount of the preceding action, and an observation. Modelled on `time_step` of TF-Agents.
 */

import { integer, mustBe, onlyKeys } from "../base/error.ts";
import { Column, type ColumnLike, isColumn } from "../schema/column.ts";
import { isList, listLength } from "../schema/copy-numbers.ts";
import { isOverflow } from "../schema/copy-values.ts";
import { sizeOf } from "../schema/leaf.ts";

/** The maximum number of rows in a batch. */
const MAX_ROWS = 2 ** 24;

/** The position of a step in its episode. */
export const StepType = { FIRST: 0, MID: 1, LAST: 2 } as const;
export type StepType = (typeof StepType)[keyof typeof StepType];

/** A number, or one number per row of a batch. */
export type Batched = number | ArrayLike<number>;

export interface TimeStep<O = unknown> {
  readonly stepType: Batched;
  /** The reward of the action that led to this step. 0 for the first step of an episode. */
  readonly reward: Batched;
  /** The discount of future rewards. 0 if the episode terminated with this step. Otherwise 1, or less if the future counts less. */
  readonly discount: Batched;
  readonly observation: O;
}

/** Returns the first step of an episode, with reward 0 and discount 1. With `batchSize`, returns a batch of that many environments in lock-step. */
export function restart<O>(observation: O, options: { readonly batchSize?: number } = {}): TimeStep<O> {
  const { batchSize } = onlyKeys("options", options, "batchSize");
  if (batchSize !== undefined) integer("batchSize", batchSize, 0, MAX_ROWS);
  if (batchSize === undefined) return { stepType: StepType.FIRST, reward: 0, discount: 1, observation };
  return timeStep(StepType.FIRST, observation, new Float32Array(batchSize), 1);
}

export interface StepOptions {
  /** The batch dimensions. They are necessary only if each reward is a vector: `[]` for a single step, `[rows]` for a batch of steps. */
  readonly outerDims?: readonly [] | readonly [rows: number];
}

/**
 * Returns a step in the middle of an episode. Here and in the functions below, the rewards determine the batch size. A single discount applies to every row.
 */
export function transition<O>(observation: O, reward: Batched, discount: Batched = 1, options: StepOptions = {}): TimeStep<O> {
  return timeStep(StepType.MID, observation, reward, discount, options);
}

/** Returns the last step of an episode that terminated, with discount 0. */
export function termination<O>(observation: O, reward: Batched, options: StepOptions = {}): TimeStep<O> {
  return timeStep(StepType.LAST, observation, reward, 0, options);
}

/** Returns the last step of an episode that was truncated, usually by a time limit. The default discount of 1 keeps the value of the future. */
export function truncation<O>(observation: O, reward: Batched, discount: Batched = 1, options: StepOptions = {}): TimeStep<O> {
  return timeStep(StepType.LAST, observation, reward, discount, options);
}

function timeStep<O>(stepType: StepType, observation: O, reward: Batched, discount: Batched, options: StepOptions = {}): TimeStep<O> {
  const { outerDims } = onlyKeys("options", options, "outerDims");
  const rows = outerDims === undefined ? rowsOf("reward", reward) : rowsIn(outerDims);
  const types = rows === undefined ? stepType : new Int32Array(rows).fill(stepType);
  return { stepType: types, reward, discount: rows === undefined ? discount : broadcast(discount, rows), observation };
}

/** Returns one step type per row of `like`. If `like` is a column, returns a column of the same shape. */
export function stepTypes(stepType: StepType, like: Batched | ColumnLike, name = "reward"): Batched {
  if (isColumn(like)) return new Column(new Int32Array(sizeOf(like.shape)).fill(stepType), [...like.shape]) as unknown as Batched;
  const rows = rowsOf(name, like as Batched);
  return rows === undefined ? stepType : new Int32Array(rows).fill(stepType);
}

/** Returns the number of rows of a batch, or undefined for a single value. @throws TypeError for a value that is neither a number nor a list of numbers */
function rowsOf(name: string, value: Batched): number | undefined {
  if (typeof value === "number") return undefined;
  if (!isList(value)) throw mustBe(TypeError, name, "a number, or a list with one number per row", value);
  return listLength(value);
}

function rowsIn(outerDims: unknown): number | undefined {
  if (!Array.isArray(outerDims)) throw mustBe(TypeError, "outerDims", "[] or [rows]", outerDims);
  if (outerDims.length > 1) throw mustBe(RangeError, "outerDims", "[] or [rows]", outerDims);
  return outerDims.length === 0 ? undefined : integer("outerDims[0]", outerDims[0], 0, MAX_ROWS);
}

function broadcast(value: Batched, rows: number): ArrayLike<number> {
  if (typeof value !== "number") return value;
  if (isOverflow("f32", value)) throw mustBe("INVALID_DATA", "reward", "a number that fits in f32", value);
  return new Float32Array(rows).fill(value);
}
