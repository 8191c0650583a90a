/** Converts experience to the form that a learner needs, and checks the experience against a spec. Modelled on `data_converter` of TF-Agents. */

import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { Column } from "../../schema/column.ts";
import { f32 } from "../../schema/constructors.ts";
import { isLeaf, sizeOf } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import type { TrajectorySpec } from "../trajectory.ts";
import { blankLike, copyRows, eachColumn } from "./columns.ts";
import { fitColumns, type Outer, type SpecColumns } from "./fit-columns.ts";
import { toNStepTransition } from "./n-step.ts";
import { checkTrajectorySpec, type TrajectoryBatch, type Transition, toTransition, toTransitionSpec, transitionOf, withoutTime } from "./transition.ts";

type Specs = TrajectorySpec<Spec, Spec, Spec>;

/** The input of a learner: trajectories, or transitions. */
export type Experience = TrajectoryBatch | Transition<unknown>;

export interface AsTrajectoryOptions {
  /** The required number of steps. Default: any number. */
  readonly sequenceLength?: number;
  /** The number of outer dimensions: 2 for batch and time, 1 for batch. Default: 2. */
  readonly numOuterDims?: 1 | 2;
}

/**
 * Returns a trajectory after checking it against the spec. Keys that are not in the spec are removed. A transition becomes the trajectory of its first step.
 * Nothing is copied.
 * @throws TypeError if the experience is neither a trajectory nor a transition
 * @throws ReplayError SPEC_MISMATCH if the structure, the shape, the dtype or the number of steps differs
 */
export function asTrajectory<const S extends Specs>(spec: S, value: Experience, options: AsTrajectoryOptions = {}): SpecColumns<S> {
  checkTrajectorySpec(spec);
  const { sequenceLength, numOuterDims = 2 } = onlyKeys("options", options, "sequenceLength, numOuterDims");
  integer("numOuterDims", numOuterDims, 1, 2);
  if (sequenceLength !== undefined) integer("sequenceLength", sequenceLength, 1, MAX_LENGTH);
  if (sequenceLength !== undefined && numOuterDims === 1)
    throw mustBe(RangeError, "sequenceLength", "omitted if numOuterDims is 1, because there is no time dimension", sequenceLength);
  return fitTrajectory(spec, isTransition(value) ? toTrajectoryBatch(value) : mustBeTrajectory(value), numOuterDims, sequenceLength);
}

export interface AsTransitionOptions {
  /** Whether to remove the time dimension. The experience must then be a trajectory of two steps, or a transition [B]. Default: false. */
  readonly squeezeTimeDim?: boolean;
  /** Whether the first observation is prepended to the next observations, for networks that read sequences. Default: false. */
  readonly prependT0ToNextTimeStep?: boolean;
  /** The spec of the policy's state in a transition. The state has no time dimension. Default: empty. */
  readonly policyStateSpec?: Spec;
}

/** Returns the transitions of a trajectory [B, T], or a checked transition, without keys that are not in the spec. @throws the errors of asTrajectory */
export function asTransition(spec: Specs, value: Experience, options: AsTransitionOptions = {}): Transition {
  checkTrajectorySpec(spec);
  checkTransitionOptions(options, "squeezeTimeDim, prependT0ToNextTimeStep, policyStateSpec");
  const { squeezeTimeDim, prependT0ToNextTimeStep = false, policyStateSpec } = options;
  flag("prependT0ToNextTimeStep", prependT0ToNextTimeStep);
  if (squeezeTimeDim && prependT0ToNextTimeStep)
    throw mustBe(RangeError, "prependT0ToNextTimeStep", "false if squeezeTimeDim is true, because there is no time dimension to prepend to", true);
  const outer = squeezeTimeDim ? 1 : 2;
  if (isTransition(value)) return prependFirst(fitTransition(spec, value, outer, policyStateSpec), prependT0ToNextTimeStep);
  const transitions = toTransition(fitTrajectory(spec, mustBeTrajectory(value), 2, squeezeTimeDim ? 2 : undefined)) as unknown as Transition<never>;
  return prependFirst(squeezeTimeDim ? withoutTime(transitions) : transitions, prependT0ToNextTimeStep);
}

/**
 * Returns every step of a trajectory [B, T] as a transition. The next observation is unknown and replaced by zeros, f32 [B, T]. If the experience is a
 * transition, it must already have this form.
 * @param options squeezeTimeDim: whether to remove the time dimension, which requires trajectories of one step. Default: false
 * @throws the errors of asTrajectory
 */
export function asHalfTransition(spec: Specs, value: Experience, options: Omit<AsTransitionOptions, "prependT0ToNextTimeStep"> = {}): Transition {
  checkTrajectorySpec(spec);
  const { squeezeTimeDim, policyStateSpec } = checkTransitionOptions(options, "squeezeTimeDim, policyStateSpec");
  if (isTransition(value)) return fitTransition(spec, value, squeezeTimeDim ? 1 : 2, policyStateSpec, f32());
  const trajectory = fitTrajectory(spec, mustBeTrajectory(value), 2, squeezeTimeDim ? 1 : undefined) as never as Parameters<typeof transitionOf>[0];
  const { data, shape } = trajectory.discount;
  const half = transitionOf(trajectory, new Column(new Float32Array(data.length), [...shape]));
  return (squeezeTimeDim ? withoutTime(half) : half) as unknown as Transition;
}

export interface AsNStepTransitionOptions {
  /** The discount per step, a finite number. */
  readonly gamma: number;
  /** The number of steps that a transition must span. A trajectory must then have n + 1 steps. Default: any number. */
  readonly n?: number;
  /** The spec of a policy's state, as in `asTransition`. */
  readonly policyStateSpec?: Spec;
}

/**
 * Returns the result of `toNStepTransition` for a trajectory [B, n + 1], or a checked transition [B], without keys that are not in the spec.
 * @throws the errors of asTrajectory
 */
export function asNStepTransition(spec: Specs, value: Experience, options: AsNStepTransitionOptions): Transition {
  checkTrajectorySpec(spec);
  const { gamma, n, policyStateSpec } = onlyKeys("options", options, "gamma, n, policyStateSpec");
  if (n !== undefined) integer("n", n, 1, MAX_LENGTH);
  if (isTransition(value)) return fitTransition(spec, value, 1, policyStateSpec);
  return toNStepTransition(fitTrajectory(spec, mustBeTrajectory(value), 2, n === undefined ? undefined : n + 1), gamma) as unknown as Transition;
}

function checkTransitionOptions<T extends AsTransitionOptions>(options: T, keys: string): T & { readonly squeezeTimeDim: boolean } {
  const { squeezeTimeDim = false } = onlyKeys("options", options, keys);
  flag("squeezeTimeDim", squeezeTimeDim);
  return { ...options, squeezeTimeDim };
}

function isTransition(value: Experience): value is Transition<unknown> {
  return typeof value === "object" && value !== null && ["timeStep", "actionStep", "nextTimeStep"].every((part) => part in value);
}

function mustBeTrajectory(value: Experience): TrajectoryBatch {
  if (typeof value === "object" && value !== null && "stepType" in value && "nextStepType" in value) return value as TrajectoryBatch;
  throw mustBe(TypeError, "value", "a trajectory, or a transition with timeStep, actionStep and nextTimeStep", value);
}

/** Returns the columns of a trajectory, checked against the spec. @throws ReplayError SPEC_MISMATCH if the columns do not fit */
function fitTrajectory<S extends Spec>(spec: S, value: unknown, outer: Outer, steps: number | undefined): SpecColumns<S> {
  return fitColumns(spec, value, { subject: "value", outer, steps });
}

/**
 * Returns the columns of a transition, checked against the spec. @param nextObservation the spec of the next observation, if it differs @throws ReplayError
 * SPEC_MISMATCH if the columns do not fit
 */
function fitTransition(spec: Specs, value: Transition<unknown>, outer: Outer, state: Spec = [], nextObservation?: Spec): Transition {
  const { timeStep, actionStep, nextTimeStep } = toTransitionSpec(spec);
  const { action, info } = actionStep;
  const next = nextObservation === undefined ? nextTimeStep : { ...nextTimeStep, observation: nextObservation };
  const { state: policyState = [], ...step } = (value.actionStep ?? {}) as { readonly state?: unknown };
  const columns = fitColumns(
    { timeStep, actionStep: { action, info }, nextTimeStep: next } as Spec,
    { ...value, actionStep: step },
    { subject: "value", outer },
  ) as never as Transition;
  const hasNoState = !isLeaf(state) && Object.keys(state).length === 0;
  const [batch] = (columns.timeStep as unknown as { readonly discount: Column }).discount.shape;
  // A state has no time dimension. If there is no policyStateSpec, a state is an error.
  if (hasNoState && Object.keys(policyState as object).length > 0)
    throw mustBe("SPEC_MISMATCH", "value.actionStep.state", "omitted, or described by policyStateSpec", policyState);
  const fittedState = hasNoState ? [] : fitColumns(state, policyState, { subject: "value.actionStep.state", outer: 1, rows: batch });
  return { ...columns, actionStep: { ...columns.actionStep, state: fittedState } };
}

/** Returns the trajectory of a transition's first step. */
function toTrajectoryBatch({ timeStep, actionStep, nextTimeStep }: Transition<unknown>): TrajectoryBatch {
  const { stepType, observation } = (timeStep ?? {}) as { readonly [field: string]: never };
  const { stepType: nextStepType, reward, discount } = (nextTimeStep ?? {}) as { readonly [field: string]: never };
  const action = actionStep?.action;
  return { stepType, observation, action, policyInfo: actionStep?.info ?? [], nextStepType, reward, discount } as unknown as TrajectoryBatch;
}

/** Prepends the first observation to the next observations, [B, T + 1, …]. If there are no steps, the result is [B, 0, …]. */
function prependFirst(transition: Transition<unknown>, isPrepended: boolean): Transition {
  if (!isPrepended) return transition as Transition;
  const { timeStep, nextTimeStep } = transition as Transition<{ readonly observation: unknown }>;
  const firsts: Column[] = [];
  eachColumn("observation", timeStep.observation, [], (column) => firsts.push(column));
  let i = 0;
  const observation = eachColumn("observation", nextTimeStep.observation, [], (next) => {
    const firstColumn = firsts[i++] as Column;
    const [rows = 0, steps = 0, ...rest] = next.shape;
    const [, firstSteps = 0] = firstColumn.shape;
    if (firstSteps === 0) return next;
    const stepSize = sizeOf(rest);
    const data = blankLike(next.data, rows * (steps + 1) * stepSize);
    const toStride = (steps + 1) * stepSize;
    copyRows(firstColumn.data, data, { rows, from: 0, stride: firstSteps * stepSize, to: 0, toStride, rowSize: stepSize });
    copyRows(next.data, data, { rows, from: 0, stride: steps * stepSize, to: stepSize, toStride, rowSize: steps * stepSize });
    return new Column(data, [rows, steps + 1, ...rest]);
  });
  return { ...transition, nextTimeStep: { ...nextTimeStep, observation } } as unknown as Transition;
}
