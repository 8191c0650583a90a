/** What an environment emits: a step type, the reward and discount of the action before, an observation. After TF-Agents' `time_step`. */

import { integer, mustBe, onlyKeys } from "../error.ts";
import { isList, listLength } from "../spec/numbers.ts";

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

/** A step between. A batch is told by its rewards. */
export function transition<O>(observation: O, reward: Batched, discount: Batched = 1): TimeStep<O> {
  return timeStep(StepType.MID, observation, reward, discount);
}

/** The last step of an episode that ended for good: discount 0. */
export function termination<O>(observation: O, reward: Batched): TimeStep<O> {
  return timeStep(StepType.LAST, observation, reward, 0);
}

/** The last step of an episode that was cut off, by a limit of time mostly: what would have followed still counts. */
export function truncation<O>(observation: O, reward: Batched, discount: Batched = 1): TimeStep<O> {
  return timeStep(StepType.LAST, observation, reward, discount);
}

function timeStep<O>(stepType: StepType, observation: O, reward: Batched, discount: Batched): TimeStep<O> {
  const rows = rowsOf("reward", reward);
  return { stepType: stepTypes(stepType, reward), reward, discount: rows === undefined ? discount : spread(discount, rows), observation };
}

/** The step type, as often as there are rows in a batch like this. */
export function stepTypes(stepType: StepType, like: Batched, name = "reward"): Batched {
  const rows = rowsOf(name, like);
  return rows === undefined ? stepType : new Int32Array(rows).fill(stepType);
}

/** Rows of a batch; undefined where it is none. @throws TypeError for what is neither a number nor a list of them */
function rowsOf(name: string, value: Batched): number | undefined {
  if (typeof value === "number") return undefined;
  if (!isList(value)) throw mustBe(TypeError, name, "a number, or a list of one a row", value);
  return listLength(value);
}

function spread(value: Batched, rows: number): ArrayLike<number> {
  return typeof value === "number" ? new Float32Array(rows).fill(value) : value;
}
