/** Defines trajectories. A trajectory records one step of an agent: the observation, the action and the result. Modelled on `trajectory` of TF-Agents. */

import { mustBe, onlyKeys } from "../base/error.ts";
import { type Column, type ColumnLike, isColumn } from "../schema/column.ts";
import { f32, i32 } from "../schema/constructors.ts";
import { isList } from "../schema/copy-numbers.ts";
import type { Leaf } from "../schema/leaf.ts";
import type { Spec } from "../schema/spec.ts";
import { type Batched, StepType, stepTypes, type TimeStep } from "./time-step.ts";

/**
 * A step and the result of its action. `N` is the type of its numbers, which is one number or one number per row. In batches with a time dimension, numbers are
 * columns.
 */
export interface Trajectory<O = unknown, A = unknown, P = unknown, N = Batched, R = N> {
  /** The step type of the observation. LAST marks a boundary, the step between two episodes. */
  readonly stepType: N;
  readonly observation: O;
  readonly action: A;
  readonly policyInfo: P;
  /** The type of the step after the action. */
  readonly nextStepType: N;
  readonly reward: R;
  readonly discount: N;
}

/** The output of a policy. */
export interface PolicyStep<A = unknown, P = unknown> {
  readonly action: A;
  readonly state?: unknown;
  readonly info?: P;
}

const { FIRST, MID, LAST } = StepType;

/** The spec of trajectories, with the same field names. */
export interface TrajectorySpec<O extends Spec = Spec, A extends Spec = Spec, P extends Spec = readonly []> {
  readonly stepType: Leaf<"i32", readonly []>;
  readonly observation: O;
  readonly action: A;
  readonly policyInfo: P;
  readonly nextStepType: Leaf<"i32", readonly []>;
  readonly reward: Leaf<"f32", readonly []>;
  readonly discount: Leaf<"f32", readonly []>;
  // Without an index signature, this interface would not be assignable to `Spec`.
  readonly [name: string]: Spec;
}

/** Returns the spec of trajectories with these observations and actions. Step types are i32, reward and discount f32. The default policyInfo is empty. */
export function trajectorySpec<const O extends Spec, const A extends Spec, const P extends Spec = readonly []>(parts: {
  readonly observation: O;
  readonly action: A;
  readonly policyInfo?: P;
}): TrajectorySpec<O, A, P> {
  const { observation, action, policyInfo = [] as unknown as P } = onlyKeys("parts", parts, "observation, action, policyInfo");
  return { stepType: i32(), observation, action, policyInfo, nextStepType: i32(), reward: f32(), discount: f32() };
}

interface TrajectoryFactory {
  <O, A, P>(observation: O, action: A, policyInfo: P, reward: Batched, discount: Batched): Trajectory<O, A, P>;
  <O, A, P, C extends ColumnLike>(observation: O, action: A, policyInfo: P, reward: C, discount: C): Trajectory<O, A, P, Column<"i32"> | C>;
}

function createFactory(stepType: StepType, nextStepType: StepType): TrajectoryFactory {
  const make = (observation: unknown, action: unknown, policyInfo: unknown, reward: Batched, discount: Batched) => ({
    stepType: stepTypes(stepType, discount, "discount"),
    observation,
    action,
    policyInfo,
    nextStepType: stepTypes(nextStepType, discount, "discount"),
    reward,
    discount,
  });
  return make as TrajectoryFactory;
}

/**
 * Creates a trajectory of the first step of an episode. Here and in the functions below, the discounts determine the batch size. If a batch also has a time
 * dimension, its numbers are columns.
 */
export const first: TrajectoryFactory = createFactory(FIRST, MID);
/** Creates a trajectory in the middle of an episode. */
export const mid: TrajectoryFactory = createFactory(MID, MID);
/** Creates a trajectory of the action that ends the episode. */
export const last: TrajectoryFactory = createFactory(MID, LAST);
/** Creates a trajectory of an episode with a single action. */
export const singleStep: TrajectoryFactory = createFactory(FIRST, LAST);
/** Creates a trajectory of the step between two episodes. Its action has no meaning. The next step is the first step of the next episode. */
export const boundary: TrajectoryFactory = createFactory(LAST, FIRST);

/**
 * Creates a trajectory from the observation in `timeStep`, the action, and the result in `nextTimeStep`.
 * @param action the output of a policy, or only the action
 */
export function fromTransition<O, A, P = readonly []>(timeStep: TimeStep<O>, action: A | PolicyStep<A, P>, nextTimeStep: TimeStep<O>): Trajectory<O, A, P> {
  for (const [name, step] of Object.entries({ timeStep, nextTimeStep })) checkStep(name, step);
  const policyStep = isPolicyStep<A, P>(action) ? action : { action, info: undefined };
  const { stepType, observation } = timeStep;
  const { stepType: nextStepType, reward, discount } = nextTimeStep;
  return { stepType, observation, action: policyStep.action, policyInfo: policyStep.info ?? ([] as unknown as P), nextStepType, reward, discount };
}

/** Returns a copy of a trajectory in which some fields have other values. @throws RangeError if the trajectory does not have a field */
export function replace<T extends Trajectory<unknown, unknown, unknown, unknown, unknown>, const F extends { readonly [K in keyof Trajectory]?: unknown }>(
  trajectory: T,
  fields: F,
): Omit<T, keyof F> & F {
  checkStep("trajectory", trajectory);
  checkStep("fields", fields);
  const unknown = Object.keys(fields).find((field) => !Object.hasOwn(trajectory, field));
  if (unknown !== undefined) throw mustBe(RangeError, "each of fields", `one of ${Object.keys(trajectory).join(", ")}`, unknown, Object.keys(trajectory));
  return { ...trajectory, ...fields };
}

/** Checks the form of a step. @throws TypeError if `step` is not an object */
function checkStep(name: string, step: unknown): void {
  if (typeof step !== "object" || step === null) throw mustBe(TypeError, name, "an object with stepType", step);
}

function isPolicyStep<A, P>(action: unknown): action is PolicyStep<A, P> {
  return typeof action === "object" && action !== null && Object.hasOwn(action, "action");
}

/** The argument of the functions below: a time step, a trajectory, or a sampled batch. */
interface Typed {
  readonly stepType: Batched | ColumnLike;
  readonly nextStepType?: Batched | ColumnLike;
}

/** Returns whether an episode begins at this step. For a batch, returns one 0 or 1 per row, as do `isLast` and the other functions of this kind. */
export function isFirst(step: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(step, "stepType", (type) => type === FIRST);
}

/** Returns whether a time step is of type MID, or a trajectory leads from MID to MID. */
export function isMid(step: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(step, "stepType", (type, i, next) => type === MID && at(next, i) === MID);
}

/** Returns whether a time step is of type LAST, or a trajectory leads to such a time step. */
export function isLast(step: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(step, "nextStepType", (type) => type === LAST);
}

/** Returns whether a trajectory is the boundary between two episodes. */
export function isBoundary(trajectory: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(trajectory, "stepType", (type) => type === LAST);
}

/**
 * Tests the step types of a step, or of each row of a batch. @param of the name of the field to read; `stepType` replaces a missing `nextStepType`, which time
 * steps do not have
 */
function mapStepTypes(step: Typed, of: keyof Typed, is: (type: number, row: number, next: Batched | ColumnLike) => boolean): boolean | Uint8Array<ArrayBuffer> {
  checkStep("step", step);
  const { stepType, nextStepType = stepType } = step;
  const types = of === "stepType" ? stepType : nextStepType;
  for (const type of [types, nextStepType])
    if (!["number", "bigint"].includes(typeof type) && !isColumn(type) && !isList(type))
      throw mustBe(TypeError, of, "a number, a list of numbers, or a column", type);
  const isSingle = typeof types !== "object" || ("shape" in types && types.shape.length === 0);
  return isSingle
    ? is(at(types, 0), 0, nextStepType)
    : Uint8Array.from({ length: valuesOf(types).length }, (_, row) => Number(is(at(types, row), row, nextStepType)));
}

function at(types: Batched | ColumnLike, row: number): number {
  // An int64 value is a bigint.
  const type = typeof types === "object" ? valuesOf(types)[row] : types;
  if (typeof type !== "number" && typeof type !== "bigint") throw mustBe(TypeError, "a step type", "a number", type);
  return Number(type);
}

function valuesOf(types: ArrayLike<number> | ColumnLike): ArrayLike<unknown> {
  return "data" in types ? types.data : types;
}
