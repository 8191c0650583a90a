/** Defines the interfaces of the environments, policies and observers that take part in a drive. */

import { mustBe } from "../../base/error.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import { copyColumns, isColumn } from "../../schema/column.ts";
import { elementsIn } from "../../schema/copy-numbers.ts";
import { isPlain } from "../../schema/infer.ts";
import { restart, type TimeStep, termination, transition, truncation } from "../time-step.ts";
import type { PolicyStep, Trajectory } from "../trajectory.ts";
import type { Transition } from "../transitions/transition.ts";
import type { Awaitable } from "../writers/step-client.ts";

/** The result of a step in a Gymnasium-like environment. Batches of environments must return time steps instead. */
export interface Outcome<O = unknown> {
  readonly observation: O;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** One environment, or a batch of environments in lock-step. Each row of a batch resets automatically in the step after its last step. */
export interface Environment<O = unknown, A = unknown> {
  /** Starts an episode. Returns its first time step, or only the first observation. */
  reset(): Awaitable<TimeStep<O> | O>;
  step(action: A): Awaitable<TimeStep<O> | Outcome<O>>;
  /** Returns the value that info observers receive after each step. */
  getInfo?(): Awaitable<unknown>;
  /**
   * Returns the current time step, from which a `DynamicStepDriver` continues. If this method is missing, the driver continues from the end of its last run.
   */
  currentTimeStep?(): Awaitable<TimeStep<O>>;
}

/** A policy: a function of the observation, or an object with a method `action`, as in TF-Agents. A policy with a state also has `initialState`. */
export type Policy<O = unknown, A = unknown> =
  | ((observation: O, timeStep: TimeStep<O>) => Awaitable<A>)
  | { action(timeStep: TimeStep<O>, state: unknown): Awaitable<PolicyStep<A>>; initialState?(batchSize: number | undefined): unknown };

/** A function that receives every trajectory. If it returns a promise, the next step waits for the promise. */
export type Observer<O = unknown, A = unknown> = (trajectory: Trajectory<O, A, never>) => unknown;

/** A function that receives every transition, which consists of two time steps and the policy's output between them. */
export type TransitionObserver<O = unknown, A = unknown> = (transition: Transition<TimeStep<O>, A, never>) => unknown;

/** A function that receives the result of the environment's `getInfo`. */
export type InfoObserver = (info: never) => unknown;

/** All observers of a drive. */
export interface Observers<O, A> {
  readonly observers: readonly Observer<O, A>[];
  readonly transitionObservers: readonly TransitionObserver<O, A>[];
  readonly infoObservers: readonly InfoObserver[];
}

/** Checks the functions of an environment and a policy. @throws TypeError if a function is missing */
export function checkParts(environment: Partial<Record<keyof Environment, unknown>>, policy: unknown, infoObservers: readonly unknown[]): void {
  const names = infoObservers.length === 0 ? (["reset", "step"] as const) : (["reset", "step", "getInfo"] as const);
  for (const name of names)
    if (typeof environment?.[name] !== "function")
      throw mustBe(TypeError, "environment", `an object with the functions ${names.length === 2 ? "reset and step" : "reset, step and getInfo"}`, environment);
  if (typeof policy !== "function" && typeof (policy as { action?: unknown } | undefined)?.action !== "function")
    throw mustBe(TypeError, "policy", "a function, or an object with action", policy);
}

/** Returns a copy of a list of functions. @throws TypeError if the value is not an array of functions */
export function functionsIn<F>(subject: string, list: readonly F[]): F[] {
  const called = Array.isArray(list) ? elementsIn<F>(list) : [];
  if (!Array.isArray(list) || !called.every((fn) => typeof fn === "function")) throw mustBe(TypeError, subject, "an array of functions", list);
  return called;
}

/** Returns a copy of a time step and its arrays, because an environment may reuse the arrays for its next observation. */
export function copyTimeStep<O>(timeStep: TimeStep<O>): TimeStep<O> {
  return Object.fromEntries(Object.entries(timeStep).map(([name, value]) => [name, copyArrays(value)])) as unknown as TimeStep<O>;
}

/** Returns a nest with copies of its arrays. Values that are neither arrays nor plain objects are not copied. */
function copyArrays(value: unknown): unknown {
  if (kindOf(value) !== undefined) return (value as Uint8Array).slice();
  if (Array.isArray(value)) return value.map(copyArrays);
  if (isColumn(value)) return copyColumns(value);
  return isPlain(value) ? Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, copyArrays(part)])) : value;
}

/** Returns the result of a reset as a new time step. */
export function first<O>(value: TimeStep<O> | O): TimeStep<O> {
  return copyTimeStep(isTimeStep<O>(value) ? value : restart(value));
}

/** Returns the result of a step as a new time step. @throws TypeError if the result is neither a time step nor an outcome */
export function toTimeStep<O>(value: TimeStep<O> | Outcome<O>): TimeStep<O> {
  return copyTimeStep(convertOutcome(value));
}

function convertOutcome<O>(value: TimeStep<O> | Outcome<O>): TimeStep<O> {
  if (isTimeStep<O>(value)) return value;
  const { observation, reward, terminated, truncated } = (value ?? {}) as Outcome<O>;
  if (typeof terminated !== "boolean")
    throw mustBe(TypeError, "the result of the environment's step", "a TimeStep, or an object with observation, reward, terminated and truncated", value);
  return terminated ? termination(observation, reward) : truncated ? truncation(observation, reward) : transition(observation, reward);
}

export function isTimeStep<O>(value: unknown): value is TimeStep<O> {
  return typeof value === "object" && value !== null && "stepType" in value;
}
