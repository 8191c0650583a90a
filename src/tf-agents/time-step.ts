/** What an environment emits: a step type, the reward and discount of the action before, an observation. After TF-Agents' `time_step`. */

import { integer, mustBe, onlyKeys } from "../base/error.ts";
import { Column, type ColumnLike, isColumn } from "../schema/column.ts";
import { isList, listLength } from "../schema/copy-numbers.ts";
import { isOverflow } from "../schema/copy-values.ts";
import { sizeOf } from "../schema/leaf.ts";

/** Rows of a batch at most. */
const MAX_ROWS = 2 ** 24;

/** Where in its episode a step is. */
export const StepType = { FIRST: 0, MID: 1, LAST: 2 } as const;
export type StepType = (typeof StepType)[keyof typeof StepType];

/** One number, or one a row of a batch. */
export type Batched = number | ArrayLike<number>;

export interface TimeStep<O = unknown> {
  readonly stepType: Batched;
  /** Of the action that led here; 0 in a first step. */
  readonly reward: Batched;
  /** 0 where the episode ended for good; 1, or less where the future counts less, everywhere else. */
  readonly discount: Batched;
  readonly observation: O;
}

/** The first step of an episode: reward 0, discount 1. With `batchSize`, of so many in lock-step. */
export function restart<O>(observation: O, options: { readonly batchSize?: number } = {}): TimeStep<O> {
  const { batchSize } = onlyKeys("options", options, "batchSize");
  if (batchSize !== undefined) integer("batchSize", batchSize, 0, MAX_ROWS);
  if (batchSize === undefined) return { stepType: StepType.FIRST, reward: 0, discount: 1, observation };
  return timeStep(StepType.FIRST, observation, new Float32Array(batchSize), 1);
}

export interface StepOptions {
  /** The batch, where its rewards do not tell it: `[]` of a single step whose reward is a vector, `[rows]` of a batch of such. */
  readonly outerDims?: readonly [] | readonly [rows: number];
}

/** A step between. A batch is told by its rewards, here and below; one discount is every row's. */
export function transition<O>(observation: O, reward: Batched, discount: Batched = 1, options: StepOptions = {}): TimeStep<O> {
  return timeStep(StepType.MID, observation, reward, discount, options);
}

/** The last step of an episode that ended for good: discount 0. */
export function termination<O>(observation: O, reward: Batched, options: StepOptions = {}): TimeStep<O> {
  return timeStep(StepType.LAST, observation, reward, 0, options);
}

/** The last step of an episode that was cut off, by a limit of time mostly: what would have followed still counts. */
export function truncation<O>(observation: O, reward: Batched, discount: Batched = 1, options: StepOptions = {}): TimeStep<O> {
  return timeStep(StepType.LAST, observation, reward, discount, options);
}

function timeStep<O>(stepType: StepType, observation: O, reward: Batched, discount: Batched, options: StepOptions = {}): TimeStep<O> {
  const { outerDims } = onlyKeys("options", options, "outerDims");
  const rows = outerDims === undefined ? rowsOf("reward", reward) : rowsIn(outerDims);
  const types = rows === undefined ? stepType : new Int32Array(rows).fill(stepType);
  return { stepType: types, reward, discount: rows === undefined ? discount : broadcast(discount, rows), observation };
}

/** The step type, as often as there are rows in a batch like this: of columns, one of the same shape. */
export function stepTypes(stepType: StepType, like: Batched | ColumnLike, name = "reward"): Batched {
  if (isColumn(like)) return new Column(new Int32Array(sizeOf(like.shape)).fill(stepType), [...like.shape]) as unknown as Batched;
  const rows = rowsOf(name, like as Batched);
  return rows === undefined ? stepType : new Int32Array(rows).fill(stepType);
}

/** Rows of a batch; undefined where it is none. @throws TypeError for what is neither a number nor a list of them */
function rowsOf(name: string, value: Batched): number | undefined {
  if (typeof value === "number") return undefined;
  if (!isList(value)) throw mustBe(TypeError, name, "a number, or a list of one a row", value);
  return listLength(value);
}

function rowsIn(outerDims: unknown): number | undefined {
  if (!Array.isArray(outerDims)) throw mustBe(TypeError, "outerDims", "[] or [rows]", outerDims);
  if (outerDims.length > 1) throw mustBe(RangeError, "outerDims", "[] or [rows]", outerDims);
  return outerDims.length === 0 ? undefined : integer("outerDims[0]", outerDims[0], 0, MAX_ROWS);
}

function broadcast(value: Batched, rows: number): ArrayLike<number> {
  if (typeof value !== "number") return value;
  if (isOverflow("f32", value)) throw mustBe("INVALID_DATA", "reward", "a number that f32 holds", value);
  return new Float32Array(rows).fill(value);
}
