/** Converts one whole episode to a trajectory. Modelled on `trajectory.from_episode` of TF-Agents. */

import { mustBe, onlyKeys } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { leaves } from "../../schema/nest.ts";
import { StepType } from "../time-step.ts";
import { type ColumnsIn, eachColumn, leading, type Numbers, numbersIn } from "./columns.ts";
import type { TrajectoryColumns } from "./transition.ts";

export interface Episode<O = unknown, A = unknown, P = readonly []> {
  readonly observation: O;
  readonly action: A;
  /** The additional output of the policy. Default: empty. */
  readonly policyInfo?: P;
  readonly reward: Numbers;
  /** The discount after each step. Default: all ones. Set it to 0 at the end of an episode that terminated. */
  readonly discount?: Numbers;
}

/**
 * Returns the trajectory of an episode, each array [T, …]. The first step has the type FIRST, and the next step type of the last step is LAST. Arrays are not
 * copied. `toTransition` omits the last step, so add one more step if the last reward matters. An episode without steps is a trajectory without steps.
 * @throws RangeError if an array has no time dimension
 * @throws TypeError if an array is not a column
 * @throws ReplayError SPEC_MISMATCH if the arrays differ in the number of steps
 */
export function fromEpisode<O, A, P = readonly []>(episode: Episode<O, A, P>): TrajectoryColumns<ColumnsIn<O>, ColumnsIn<A>, ColumnsIn<P>> {
  const { observation, action, policyInfo = [], reward, discount } = onlyKeys("episode", episode, "observation, action, policyInfo, reward, discount");
  const [subject, clock] = discount === undefined ? ["episode.reward", firstOf(reward)] : ["episode.discount", discount];
  const [steps] = numbersIn(subject, clock, "f32").shape;
  if (steps === undefined) throw mustBe(RangeError, subject, "a column with a time dimension", clock);
  const outerShape = [steps];
  const of = <N>(field: string, nest: N) => eachColumn(`episode.${field}`, nest, outerShape, (column) => column) as ColumnsIn<N>;
  const stepType = new Int32Array(steps).fill(StepType.MID);
  const nextStepType = new Int32Array(steps).fill(StepType.MID);
  if (steps > 0) {
    stepType[0] = StepType.FIRST;
    nextStepType[steps - 1] = StepType.LAST;
  }
  return {
    stepType: new Column(stepType, [steps]),
    observation: of("observation", observation),
    action: of("action", action),
    policyInfo: of("policyInfo", policyInfo as P),
    nextStepType: new Column(nextStepType, [steps]),
    reward: eachColumn("episode.reward", reward, outerShape, (column) => column, "f32") as unknown as Column,
    discount: leading("episode.discount", discount ?? new Float32Array(steps).fill(1), outerShape),
  } as TrajectoryColumns<ColumnsIn<O>, ColumnsIn<A>, ColumnsIn<P>>;
}

/** Returns the first leaf of a nest of rewards. The number of steps is read from this leaf if there are no discounts. */
function firstOf(reward: unknown): unknown {
  const isEnd = (node: unknown) => typeof node !== "object" || node === null || Array.isArray(node) || ArrayBuffer.isView(node) || "shape" in node;
  return leaves(reward as never, isEnd)[0]?.leaf;
}
