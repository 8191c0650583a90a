/** What drivers let act on each other: an environment, a policy, and those who are told of it. */

import { mustBe } from "../../base/error.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import { copyColumns, isColumn } from "../../schema/column.ts";
import { elementsIn } from "../../schema/copy-numbers.ts";
import { isPlain } from "../../schema/infer.ts";
import { restart, type TimeStep, termination, transition, truncation } from "../time-step.ts";
import type { PolicyStep, Trajectory } from "../trajectory.ts";
import type { Transition } from "../transitions/transition.ts";
import type { Awaitable } from "../writers/step-client.ts";

/** What a Gymnasium-like environment gives: one environment only. */
export interface Outcome<O = unknown> {
  readonly observation: O;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** One environment, or a batch of them in lock-step whose rows begin anew by themselves in the step after their last one. */
export interface Environment<O = unknown, A = unknown> {
  /** The first time step, or its observation. */
  reset(): Awaitable<TimeStep<O> | O>;
  step(action: A): Awaitable<TimeStep<O> | Outcome<O>>;
  /** What info observers are told after each step. */
  getInfo?(): Awaitable<unknown>;
  /** Where it stands, for a `DynamicStepDriver` to go on from; without it the driver goes on from where its last run stopped. */
  currentTimeStep?(): Awaitable<TimeStep<O>>;
}

/** A function of what is seen, or an object with TF-Agents' `action` and, where it has a state, `initialState`. */
export type Policy<O = unknown, A = unknown> =
  | ((observation: O, timeStep: TimeStep<O>) => Awaitable<A>)
  | { action(timeStep: TimeStep<O>, state: unknown): Awaitable<PolicyStep<A>>; initialState?(batchSize: number | undefined): unknown };

/** What is called with every trajectory; the next step waits for a promise of it. */
export type Observer<O = unknown, A = unknown> = (trajectory: Trajectory<O, A, never>) => unknown;

/** The same with every transition: both time steps, and the policy's answer between them. */
export type TransitionObserver<O = unknown, A = unknown> = (transition: Transition<TimeStep<O>, A, never>) => unknown;

/** The same with what the environment's `getInfo` gives. */
export type InfoObserver = (info: never) => unknown;

/** Everybody who is told. */
export interface Observers<O, A> {
  readonly observers: readonly Observer<O, A>[];
  readonly transitionObservers: readonly TransitionObserver<O, A>[];
  readonly infoObservers: readonly InfoObserver[];
}

/** @throws TypeError for what cannot be driven */
export function checkParts(environment: Partial<Record<keyof Environment, unknown>>, policy: unknown, infoObservers: readonly unknown[]): void {
  const names = infoObservers.length === 0 ? (["reset", "step"] as const) : (["reset", "step", "getInfo"] as const);
  for (const name of names)
    if (typeof environment?.[name] !== "function")
      throw mustBe(TypeError, "environment", `an object with the functions ${names.length === 2 ? "reset and step" : "reset, step and getInfo"}`, environment);
  if (typeof policy !== "function" && typeof (policy as { action?: unknown } | undefined)?.action !== "function")
    throw mustBe(TypeError, "policy", "a function, or an object with action", policy);
}

/** A copy of a list of functions. @throws TypeError */
export function functionsIn<F>(subject: string, list: readonly F[]): F[] {
  const called = Array.isArray(list) ? elementsIn<F>(list) : [];
  if (!Array.isArray(list) || !called.every((fn) => typeof fn === "function")) throw mustBe(TypeError, subject, "an array of functions", list);
  return called;
}

/** A time step with arrays of its own: an environment may write its next observation into the array of the one before. */
export function copyTimeStep<O>(timeStep: TimeStep<O>): TimeStep<O> {
  return Object.fromEntries(Object.entries(timeStep).map(([name, value]) => [name, copyArrays(value)])) as unknown as TimeStep<O>;
}

/** A copy of the arrays in a nest; what is neither an array nor a plain object stays as it is. */
function copyArrays(value: unknown): unknown {
  if (kindOf(value) !== undefined) return (value as Uint8Array).slice();
  if (Array.isArray(value)) return value.map(copyArrays);
  if (isColumn(value)) return copyColumns(value);
  return isPlain(value) ? Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, copyArrays(part)])) : value;
}

/** A reset's answer as a time step of its own. */
export function first<O>(value: TimeStep<O> | O): TimeStep<O> {
  return copyTimeStep(isTimeStep<O>(value) ? value : restart(value));
}

/** A step's answer as a time step of its own. @throws TypeError */
export function toTimeStep<O>(value: TimeStep<O> | Outcome<O>): TimeStep<O> {
  return copyTimeStep(convertOutcome(value));
}

function convertOutcome<O>(value: TimeStep<O> | Outcome<O>): TimeStep<O> {
  if (isTimeStep<O>(value)) return value;
  const { observation, reward, terminated, truncated } = (value ?? {}) as Outcome<O>;
  if (typeof terminated !== "boolean")
    throw mustBe(TypeError, "what the environment's step gives", "a TimeStep, or an object with observation, reward, terminated and truncated", value);
  return terminated ? termination(observation, reward) : truncated ? truncation(observation, reward) : transition(observation, reward);
}

export function isTimeStep<O>(value: unknown): value is TimeStep<O> {
  return typeof value === "object" && value !== null && "stepType" in value;
}
