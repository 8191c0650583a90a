/** The one loop between environment and policy; drivers are forms of it. */
import { abortable } from "../../base/wait.ts";
import { ItemPromise } from "../../tables/item-promise.ts";
import { isPromise, type Task } from "../awaitable.ts";
import type { TimeStep } from "../time-step.ts";
import { fromTransition, isBoundary, isLast, type PolicyStep, type Trajectory } from "../trajectory.ts";
import type { Transition } from "../transitions/transition.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { copyTimeStep, type Environment, first, type Observers, type Policy, toTimeStep } from "./environment.ts";

/** Where a drive stopped, for the next one to go on from; and what it did. */
export interface DriveState<O = unknown> {
  readonly timeStep: TimeStep<O>;
  readonly policyState: unknown;
  readonly steps: number;
  readonly episodes: number;
}

/** How a driver differs from the others. */
export interface DriverMode {
  /** Whether transition observers are told before the others. */
  readonly transitionsFirst: boolean;
  /** Which state of the policy a transition has: that before its action, or the one after it. */
  readonly statePhase: "before" | "after";
  /** When the state begins anew: where an episode is over, or only where the next one of the same run acts; never that of a batch, whose rows are the policy's affair. */
  readonly stateReset: "over" | "acting" | "never";
}

export interface Limits {
  readonly steps: number;
  readonly episodes: number;
  /** Turns of the loop. */
  readonly iterations: number;
  /** Whether an episode counts with its boundary step; else with its last one. */
  readonly onBoundary: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Where a run begins: at the environment's reset, or at a time step; with a state, or the policy's initial one. */
export interface Start<O> {
  readonly timeStep?: TimeStep<O> | undefined;
  readonly policyState?: { readonly is: unknown } | undefined;
}

export function* loop<O, A>(
  environment: Environment<O, A>,
  policy: Policy<O, A>,
  { observers, transitionObservers, infoObservers }: Observers<O, A>,
  { steps: maxSteps, episodes: maxEpisodes, iterations, onBoundary, signal }: Limits,
  { transitionsFirst, statePhase, stateReset }: DriverMode,
  start: Start<O>,
): Task<DriveState<O>> {
  const wait = <T>(value: Awaitable<T>) => awaitValue(value, signal);
  let timeStep = start.timeStep === undefined ? first<O>(yield* wait(environment.reset())) : copyTimeStep(start.timeStep);
  const batchSize = typeof timeStep.reward === "number" ? undefined : timeStep.reward.length;
  const initialState = () => (typeof policy === "function" ? undefined : policy.initialState?.(batchSize));
  let policyState = start.policyState === undefined ? initialState() : start.policyState.is;
  let steps = 0;
  let episodes = 0;
  /** Whether the state begins anew with the next action. */
  let resetNext = false;
  for (let iteration = 0; iteration < iterations && steps < maxSteps && episodes < maxEpisodes; iteration++) {
    signal?.throwIfAborted();
    if (resetNext) policyState = initialState();
    resetNext = false;
    const policyStep: PolicyStep<A> =
      typeof policy === "function" ? { action: yield* wait(policy(timeStep.observation, timeStep)) } : yield* wait(policy.action(timeStep, policyState));
    const isEnd = batchSize === undefined && isLast(timeStep) === true;
    const next = isEnd ? first<O>(yield* wait(environment.reset())) : toTimeStep(yield* wait(environment.step(policyStep.action)));
    const trajectory = fromTransition(timeStep, policyStep, next) as Trajectory<O, A, never>;
    const state = policyStep.state ?? policyState;
    if (!transitionsFirst) for (const observer of observers) yield* wait(observer(trajectory));
    if (transitionObservers.length > 0) {
      const actionStep = { action: policyStep.action, state: (statePhase === "before" ? policyState : state) ?? [], info: (policyStep.info ?? []) as never };
      const transition: Transition<TimeStep<O>, A, never> = { timeStep, actionStep, nextTimeStep: next };
      for (const observer of transitionObservers) yield* wait(observer(transition));
    }
    if (transitionsFirst) for (const observer of observers) yield* wait(observer(trajectory));
    for (const observer of infoObservers) yield* wait(observer((yield* wait(environment.getInfo?.())) as never));
    const boundaries = count(isBoundary(trajectory));
    steps += (batchSize ?? 1) - boundaries;
    episodes += onBoundary ? boundaries : count(isLast(trajectory));
    timeStep = next;
    policyState = isEnd && stateReset === "over" ? initialState() : state;
    resetNext = isEnd && stateReset === "acting" && episodes > 0;
  }
  return { timeStep, policyState, steps, episodes };
}

/** A value, waited for where it is a promise, but no longer than the signal lets. */
function* awaitValue<T>(value: Awaitable<T>, signal: AbortSignal | undefined): Task<T> {
  if (!isPromise(value)) return value;
  if (signal === undefined) return (yield value) as T;
  const within = (source: Promise<unknown>) => abortable(source, "the next step", { signal });
  // What an observer refuses after the driver was stopped is left for the observer's flush.
  return (yield value instanceof ItemPromise ? value.readWithin(within) : within(value)) as T;
}

function count(flags: boolean | Uint8Array): number {
  return typeof flags === "boolean" ? Number(flags) : flags.reduce((sum, flag) => sum + flag, 0);
}
