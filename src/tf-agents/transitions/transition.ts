/** Defines transitions, which consist of an observation, an action and the next observation. Modelled on `trajectory.to_transition` of TF-Agents. */

import { described, flag, mustBe, onlyKeys } from "../../base/error.ts";
import { Column, type ColumnLike } from "../../schema/column.ts";
import type { Spec } from "../../schema/spec.ts";
import type { TimeStep } from "../time-step.ts";
import type { Trajectory, TrajectorySpec } from "../trajectory.ts";
import { type ColumnsIn, eachColumn, leading, type Numbers, numbersIn, type OuterShape, stepsOf, type WithoutTime, zerosLike } from "./columns.ts";

/** Two time steps and the policy's action between them. In batches, `T` and `N` are columns. */
export interface Transition<T = TimeStep, A = unknown, P = unknown, N = T, S = unknown> {
  readonly timeStep: T;
  readonly actionStep: { readonly action: A; readonly state: S; readonly info: P };
  readonly nextTimeStep: N;
}

/** The time steps of a batch, as columns. */
export interface StepColumns<O = unknown, R = Column> {
  readonly stepType: Column;
  readonly reward: R;
  readonly discount: Column;
  readonly observation: O;
}

/** A trajectory as a batch [B, T] or [B]. Each array is a column or a flat typed array. Step types, rewards and discounts may also be plain numbers. */
export interface TrajectoryBatch<O = unknown, A = unknown, P = unknown, R = Numbers> {
  readonly stepType: Numbers;
  readonly observation: O;
  readonly action: A;
  readonly policyInfo: P;
  readonly nextStepType: Numbers;
  readonly reward: R;
  readonly discount: Numbers;
}

/** A trajectory whose arrays are columns with the same first dimensions. */
export type TrajectoryColumns<O = unknown, A = unknown, P = unknown, R = Column> = Trajectory<O, A, P, Column, R>;

type Transitions<O, A, P> = Transition<StepColumns<ColumnsIn<O>>, ColumnsIn<A>, ColumnsIn<P>, StepColumns<ColumnsIn<O>>, readonly []>;

/**
 * Returns the T - 1 transitions of a trajectory [B, T] as [B, T - 1], including transitions that cross a boundary. If the following trajectory is also passed,
 * returns one transition per step, [B] or [B, T]. The arrays are then not copied, and the next observation comes from the following trajectory. Costs O(bytes).
 * @returns the transitions. The reward and the discount of `timeStep` are unknown, and are zeros
 * @throws RangeError if the discount has another rank
 * @throws TypeError if an array is not a column
 * @throws ReplayError SPEC_MISMATCH if an array does not have the shape of the discount
 */
export function toTransition<O, A, P>(trajectory: TrajectoryBatch<O, A, P>, nextTrajectory?: TrajectoryBatch<O, unknown, unknown>): Transitions<O, A, P> {
  const outerShape = outerShapeOf("trajectory", trajectory, 1, 2);
  if (nextTrajectory !== undefined) {
    const nextLead = outerShapeOf("nextTrajectory", nextTrajectory, 1, 2);
    const { observation } = nextTrajectory;
    const next = eachColumn("nextTrajectory.observation", observation, nextLead, (column) => column);
    if (nextLead.join() !== outerShape.join())
      throw mustBe(
        "SPEC_MISMATCH",
        "nextTrajectory.discount",
        `of shape [${outerShape.join(", ")}], like trajectory.discount`,
        described(`[${nextLead.join(", ")}]`),
      );
    return transitionOf(trajectoryColumns<Column>(trajectory, outerShape), next) as Transitions<O, A, P>;
  }
  if (outerShape.length < 2) throw rank("trajectory.discount", "[batch, time] without a nextTrajectory", outerShape);
  const [, steps = 0] = outerShape;
  const end = Math.max(steps - 1, 0);
  const current = trajectoryColumns(trajectory, outerShape, (column) => stepsOf(column, 0, end));
  const next = eachColumn("trajectory.observation", trajectory.observation, outerShape, (column) => stepsOf(column, steps - end, steps));
  return transitionOf(current, next) as Transitions<O, A, P>;
}

/**
 * Returns the transitions of `toTransition`. If requested, removes the time dimension, for a trajectory of two steps.
 * @throws the errors of toTransition
 * @throws ReplayError SPEC_MISMATCH if the time dimension is removed and there are not exactly two steps
 */
export function experienceToTransitions<O, A, P>(
  experience: TrajectoryBatch<O, A, P>,
  options: { readonly squeezeTimeDim: true },
): Transition<StepColumns<WithoutTime<O>>, WithoutTime<A>, WithoutTime<P>, StepColumns<WithoutTime<O>>, readonly []>;
export function experienceToTransitions<O, A, P>(experience: TrajectoryBatch<O, A, P>, options?: { readonly squeezeTimeDim?: boolean }): Transitions<O, A, P>;
export function experienceToTransitions(experience: TrajectoryBatch, options: { readonly squeezeTimeDim?: boolean } = {}): unknown {
  const { squeezeTimeDim = false } = onlyKeys("options", options, "squeezeTimeDim");
  flag("squeezeTimeDim", squeezeTimeDim);
  const transitions = toTransition(experience);
  if (!squeezeTimeDim) return transitions;
  const [, steps] = transitions.timeStep.discount.shape;
  if (steps !== 1) throw mustBe("SPEC_MISMATCH", "experience", "a trajectory of two steps if squeezeTimeDim is true", (steps as number) + 1);
  return withoutTime(transitions as unknown as Transition<StepColumns>);
}

/**
 * Returns the spec of the transitions of trajectories with this spec. The spec of the policy's state is empty, because a trajectory does not contain the state.
 */
export function toTransitionSpec<O extends Spec, A extends Spec, P extends Spec>(spec: TrajectorySpec<O, A, P>): TransitionSpec<O, A, P> {
  const { stepType, observation, action, policyInfo, reward, discount } = checkTrajectorySpec(spec);
  const timeStep = { stepType, reward, discount, observation };
  return { timeStep, actionStep: { action, state: [], info: policyInfo }, nextTimeStep: timeStep };
}

/** The spec of a transition, with the same part names. */
export interface TransitionSpec<O extends Spec = Spec, A extends Spec = Spec, P extends Spec = Spec> {
  readonly timeStep: TimeStepSpec<O>;
  readonly actionStep: { readonly action: A; readonly state: readonly []; readonly info: P };
  readonly nextTimeStep: TimeStepSpec<O>;
}

type TimeStepSpec<O extends Spec> = Pick<TrajectorySpec<O>, "stepType" | "reward" | "discount" | "observation">;

const FIELDS = ["stepType", "observation", "action", "policyInfo", "nextStepType", "reward", "discount"] as const;

/** Returns `spec` if it is a spec of trajectories. @throws TypeError, RangeError otherwise */
export function checkTrajectorySpec<S extends TrajectorySpec<Spec, Spec, Spec>>(spec: S): S {
  if (typeof spec !== "object" || spec === null) throw mustBe(TypeError, "spec", "a spec of trajectories, such as the result of trajectorySpec(…)", spec);
  for (const field of FIELDS) if (!Object.hasOwn(spec, field)) throw mustBe(RangeError, "spec", `a spec of trajectories, with ${FIELDS.join(", ")}`, spec);
  return spec;
}

/**
 * Returns the first dimensions of a trajectory, which are the dimensions of its discount. @throws TypeError if a field is missing · RangeError if the discount
 * has another number of dimensions
 */
export function outerShapeOf(subject: string, trajectory: TrajectoryBatch, minDims: number, maxDims: number): OuterShape {
  for (const field of FIELDS)
    if (typeof trajectory !== "object" || trajectory === null || !(field in trajectory))
      throw mustBe(TypeError, subject, `a trajectory, with ${FIELDS.join(", ")}`, trajectory);
  const { shape } = numbersIn(`${subject}.discount`, trajectory.discount, "f32");
  if (shape.length < minDims || shape.length > maxDims)
    throw rank(`${subject}.discount`, maxDims === 1 || minDims === 2 ? "[batch, time]" : "[batch] or [batch, time]", shape);
  return shape;
}

function rank(subject: string, rule: string, shape: readonly number[]): Error {
  return mustBe(RangeError, subject, `of shape ${rule}`, described(`[${shape.join(", ")}]`));
}

/** Applies `change` to every array of a trajectory. */
export function trajectoryColumns<T>(
  trajectory: TrajectoryBatch,
  outerShape: OuterShape,
  change = (column: Column): T => column as unknown as T,
): Trajectory<T, T, T, T, T> {
  const of = (field: (typeof FIELDS)[number]) => `trajectory.${field}`;
  const { stepType, observation, action, policyInfo, nextStepType, reward, discount } = trajectory;
  return {
    stepType: change(leading(of("stepType"), stepType, outerShape, "i32")),
    observation: eachColumn(of("observation"), observation, outerShape, change) as T,
    action: eachColumn(of("action"), action, outerShape, change) as T,
    policyInfo: eachColumn(of("policyInfo"), policyInfo, outerShape, change) as T,
    nextStepType: change(leading(of("nextStepType"), nextStepType, outerShape, "i32")),
    reward: eachColumn(of("reward"), reward, outerShape, change, "f32") as T,
    discount: change(leading(of("discount"), discount, outerShape)),
  };
}

/** Creates transitions from columns without copying. Zeros replace the unknown values of the first time step. */
export function transitionOf<N>(trajectory: Trajectory<unknown, unknown, unknown, Column, unknown>, observation: N): Transition<StepColumns> {
  const { stepType, nextStepType, reward, discount, action, policyInfo } = trajectory;
  const zeros = eachColumn("reward", reward, [], zerosLike);
  return {
    timeStep: { stepType, reward: zeros as Column, discount: zerosLike(discount), observation: trajectory.observation },
    actionStep: { action, state: [], info: policyInfo },
    nextTimeStep: { stepType: nextStepType, reward: reward as Column, discount, observation },
  };
}

/** Returns the columns [B, 1, …] as [B, …]. */
export function withoutTime(nest: Transition<StepColumns>): Transition<StepColumns> {
  return eachColumn(
    "transition",
    nest,
    [],
    ({ data, shape: [rows = 0, , ...rest] }: ColumnLike) => new Column(data, [rows, ...rest]),
  ) as unknown as Transition<StepColumns>;
}
