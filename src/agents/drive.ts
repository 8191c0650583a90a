/** The loop between environment and policy: TF-Agents' `PyDriver`, for one environment and for batched ones. */
import { integer, mustBe, onlyKeys } from "../error.ts";
import { elementsIn } from "../spec/numbers.ts";
import { within } from "../wait.ts";
import { isPromise, settle, type Waiting } from "./settle.ts";
import { restart, type TimeStep, termination, transition, truncation } from "./time-step.ts";
import { fromTransition, isBoundary, isLast, type PolicyStep, type Trajectory } from "./trajectory.ts";
import type { Awaitable } from "./writers/step-client.ts";

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
}

/** A function of what is seen, or an object with TF-Agents' `action` and, where it has a state, `initialState`. */
export type Policy<O = unknown, A = unknown> =
  | ((observation: O, timeStep: TimeStep<O>) => Awaitable<A>)
  | { action(timeStep: TimeStep<O>, state: unknown): Awaitable<PolicyStep<A>>; initialState?(batchSize: number | undefined): unknown };

/** What is called with every trajectory; the next step waits for a promise of it. */
export type Observer<O = unknown, A = unknown> = (trajectory: Trajectory<O, A, never>) => unknown;

export interface DriveLimit {
  /** Environment steps at most, those between two episodes not counted. Of a batch all rows count. */
  readonly steps?: number;
  /** Episodes at most, each with its boundary step. */
  readonly episodes?: number;
  /** Ends the loop with its reason, between two steps or while it waits. */
  readonly signal?: AbortSignal;
}

/** Where a drive stopped, for the next one to go on from; and what it did. */
export interface DriveState<O = unknown> {
  readonly timeStep: TimeStep<O>;
  readonly policyState: unknown;
  readonly steps: number;
  readonly episodes: number;
}

/**
 * Lets a policy act in an environment, and gives every trajectory to every observer, in order. An episode's last step is followed by a boundary
 * trajectory, so that observers see its end; a policy object's state begins anew with each. Nothing is a promise unless environment, policy or an observer
 * gives one, as observers do where a table has no room: `await` it, where that can be.
 * @param from where an earlier drive stopped; a new episode where it is left out
 * @throws RangeError without a limit
 */
export function drive<O, A>(
  environment: Environment<O, A>,
  policy: Policy<O, A>,
  observers: readonly Observer<O, A>[],
  limit: DriveLimit,
  from?: DriveState<O>,
): Awaitable<DriveState<O>> {
  const { steps, episodes, signal } = onlyKeys("limit", limit, "steps, episodes, signal");
  if (steps === undefined && episodes === undefined) throw new RangeError("limit must have steps or episodes, or drive would never end");
  if (steps !== undefined) integer("limit.steps", steps, 0);
  if (episodes !== undefined) integer("limit.episodes", episodes, 0);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw mustBe(TypeError, "limit.signal", "an AbortSignal", signal);
  const called = Array.isArray(observers) ? elementsIn(observers) : [];
  if (!Array.isArray(observers) || !called.every((observer) => typeof observer === "function"))
    throw mustBe(TypeError, "observers", "an array of functions", observers);
  for (const name of ["reset", "step"] as const)
    if (typeof environment?.[name] !== "function") throw mustBe(TypeError, "environment", "an object with the functions reset and step", environment);
  if (typeof policy !== "function" && typeof policy?.action !== "function") throw mustBe(TypeError, "policy", "a function, or an object with action", policy);
  if (from !== undefined && !isTimeStep(from?.timeStep)) throw mustBe(TypeError, "from", "what an earlier drive gave", from);
  return settle(loop(steps ?? Infinity, episodes ?? Infinity));

  function* loop(maxSteps: number, maxEpisodes: number): Waiting<DriveState<O>> {
    const now = <T>(value: Awaitable<T>) => waited(value, signal);
    let timeStep = from?.timeStep ?? first<O>(yield* now(environment.reset()));
    const batchSize = typeof timeStep.reward === "number" ? undefined : timeStep.reward.length;
    const initialState = () => (typeof policy === "function" ? undefined : policy.initialState?.(batchSize));
    let policyState = from === undefined ? initialState() : from.policyState;
    let steps = 0;
    let episodes = 0;
    while (steps < maxSteps && episodes < maxEpisodes) {
      signal?.throwIfAborted();
      const answer: PolicyStep<A> =
        typeof policy === "function" ? { action: yield* now(policy(timeStep.observation, timeStep)) } : yield* now(policy.action(timeStep, policyState));
      const over = batchSize === undefined && isLast(timeStep) === true;
      const next = over ? first<O>(yield* now(environment.reset())) : following(yield* now(environment.step(answer.action)));
      const trajectory = fromTransition(timeStep, answer, next) as Trajectory<O, A, never>;
      for (const observer of called) yield* now(observer(trajectory));
      const boundaries = count(isBoundary(trajectory));
      steps += (batchSize ?? 1) - boundaries;
      episodes += boundaries;
      timeStep = next;
      // An episode begins with a state of its own; the rows of a batch keep theirs, for the policy to see to.
      policyState = over ? initialState() : (answer.state ?? policyState);
    }
    return { timeStep, policyState, steps, episodes };
  }
}

/** A value, waited for where it is a promise, but no longer than the signal lets. */
function* waited<T>(value: Awaitable<T>, signal: AbortSignal | undefined): Waiting<T> {
  if (!isPromise(value)) return value;
  return (yield signal === undefined ? value : within(value, "the next step", { signal })) as T;
}

function first<O>(given: TimeStep<O> | O): TimeStep<O> {
  return isTimeStep<O>(given) ? given : restart(given);
}

function following<O>(given: TimeStep<O> | Outcome<O>): TimeStep<O> {
  if (isTimeStep<O>(given)) return given;
  const { observation, reward, terminated, truncated } = (given ?? {}) as Outcome<O>;
  if (typeof terminated !== "boolean")
    throw mustBe(TypeError, "what the environment's step gives", "a TimeStep, or an object with observation, reward, terminated and truncated", given);
  return terminated ? termination(observation, reward) : truncated ? truncation(observation, reward) : transition(observation, reward);
}

function isTimeStep<O>(given: unknown): given is TimeStep<O> {
  return typeof given === "object" && given !== null && "stepType" in given;
}

function count(flags: boolean | Uint8Array): number {
  return typeof flags === "boolean" ? Number(flags) : flags.reduce((sum, flag) => sum + flag, 0);
}
