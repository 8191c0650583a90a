/** What an agent lived through in one step: what it saw and did, and what came of it. After TF-Agents' `trajectory`. */

import { mustBe, onlyKeys } from "../base/error.ts";
import { type Column, type ColumnLike, isColumn } from "../schema/column.ts";
import { f32, i32 } from "../schema/constructors.ts";
import { isList } from "../schema/copy-numbers.ts";
import type { Leaf } from "../schema/leaf.ts";
import type { Spec } from "../schema/spec.ts";
import { type Batched, StepType, stepTypes, type TimeStep } from "./time-step.ts";

/** `N` are its numbers: one, or one a row; in batches with time, columns. */
export interface Trajectory<O = unknown, A = unknown, P = unknown, N = Batched, R = N> {
  /** Of the observation. LAST: a boundary, the step between two episodes. */
  readonly stepType: N;
  readonly observation: O;
  readonly action: A;
  readonly policyInfo: P;
  /** Of what followed the action. */
  readonly nextStepType: N;
  readonly reward: R;
  readonly discount: N;
}

/** A policy's answer. */
export interface PolicyStep<A = unknown, P = unknown> {
  readonly action: A;
  readonly state?: unknown;
  readonly info?: P;
}

const { FIRST, MID, LAST } = StepType;

/** A spec of trajectories has its fields under these names. */
export interface TrajectorySpec<O extends Spec = Spec, A extends Spec = Spec, P extends Spec = readonly []> {
  readonly stepType: Leaf<"i32", readonly []>;
  readonly observation: O;
  readonly action: A;
  readonly policyInfo: P;
  readonly nextStepType: Leaf<"i32", readonly []>;
  readonly reward: Leaf<"f32", readonly []>;
  readonly discount: Leaf<"f32", readonly []>;
  // A spec nests under any name.
  readonly [name: string]: Spec;
}

/** The spec of trajectories with such observations and actions: step types i32, reward and discount f32; no policyInfo unless it is given. */
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

/** A trajectory of an episode's first step. A batch is told by its discounts, here and below, and may have a dimension of time as well: then they are columns. */
export const first: TrajectoryFactory = createFactory(FIRST, MID);
/** Of a step between. */
export const mid: TrajectoryFactory = createFactory(MID, MID);
/** Of the action that ends the episode. */
export const last: TrajectoryFactory = createFactory(MID, LAST);
/** Of an episode of one action. */
export const singleStep: TrajectoryFactory = createFactory(FIRST, LAST);
/** Of the step between two episodes: its action has no meaning, what follows is the next episode's first step. */
export const boundary: TrajectoryFactory = createFactory(LAST, FIRST);

/** What was seen and done in `timeStep`, and what came of it in `nextTimeStep`. `action`: a policy's answer, or the action itself. */
export function fromTransition<O, A, P = readonly []>(timeStep: TimeStep<O>, action: A | PolicyStep<A, P>, nextTimeStep: TimeStep<O>): Trajectory<O, A, P> {
  for (const [name, step] of Object.entries({ timeStep, nextTimeStep })) checkStep(name, step);
  const policyStep = isPolicyStep<A, P>(action) ? action : { action, info: undefined };
  const { stepType, observation } = timeStep;
  const { stepType: nextStepType, reward, discount } = nextTimeStep;
  return { stepType, observation, action: policyStep.action, policyInfo: policyStep.info ?? ([] as unknown as P), nextStepType, reward, discount };
}

/** The same trajectory with other values in some of its fields. @throws RangeError for a field that trajectories do not have */
export function replace<T extends Trajectory<unknown, unknown, unknown, unknown, unknown>, const F extends { readonly [K in keyof Trajectory]?: unknown }>(
  trajectory: T,
  fields: F,
): Omit<T, keyof F> & F {
  checkStep("trajectory", trajectory);
  checkStep("fields", fields);
  const unknown = Object.keys(fields).find((field) => !Object.hasOwn(trajectory, field));
  if (unknown !== undefined) throw mustBe(RangeError, "fields", `some of ${Object.keys(trajectory).join(", ")}`, unknown, Object.keys(trajectory));
  return { ...trajectory, ...fields };
}

/** @throws TypeError for what is no step */
function checkStep(name: string, step: unknown): void {
  if (typeof step !== "object" || step === null) throw mustBe(TypeError, name, "an object with stepType", step);
}

function isPolicyStep<A, P>(action: unknown): action is PolicyStep<A, P> {
  return typeof action === "object" && action !== null && Object.hasOwn(action, "action");
}

/** What these ask for: of a batch that was drawn as well, whose arrays carry their shape. */
interface Typed {
  readonly stepType: Batched | ColumnLike;
  readonly nextStepType?: Batched | ColumnLike;
}

/** Whether an episode begins here. Of a batch one 0 or 1 a row, here and below. */
export function isFirst(step: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(step, "stepType", (type) => type === FIRST);
}

/** Whether a time step is between, or a trajectory leads from between to between. */
export function isMid(step: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(step, "stepType", (type, i, next) => type === MID && at(next, i) === MID);
}

/** Whether a time step is the last one, or a trajectory leads to it. */
export function isLast(step: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(step, "nextStepType", (type) => type === LAST);
}

/** Whether a trajectory lies between two episodes. */
export function isBoundary(trajectory: Typed): boolean | Uint8Array<ArrayBuffer> {
  return mapStepTypes(trajectory, "stepType", (type) => type === LAST);
}

/** @param of which step type is asked; a time step has one only */
function mapStepTypes(step: Typed, of: keyof Typed, is: (type: number, row: number, next: Batched | ColumnLike) => boolean): boolean | Uint8Array<ArrayBuffer> {
  checkStep("step", step);
  const { stepType, nextStepType = stepType } = step;
  const types = of === "stepType" ? stepType : nextStepType;
  for (const type of [types, nextStepType])
    if (!["number", "bigint"].includes(typeof type) && !isColumn(type) && !isList(type))
      throw mustBe(TypeError, of, "a number, a list of them, or a column", type);
  const isSingle = typeof types !== "object" || ("shape" in types && types.shape.length === 0);
  return isSingle
    ? is(at(types, 0), 0, nextStepType)
    : Uint8Array.from({ length: valuesOf(types).length }, (_, row) => Number(is(at(types, row), row, nextStepType)));
}

function at(types: Batched | ColumnLike, row: number): number {
  // An int64 comes as a bigint.
  const type = typeof types === "object" ? valuesOf(types)[row] : types;
  if (typeof type !== "number" && typeof type !== "bigint") throw mustBe(TypeError, "a step type", "a number", type);
  return Number(type);
}

function valuesOf(types: ArrayLike<number> | ColumnLike): ArrayLike<unknown> {
  return "data" in types ? types.data : types;
}
