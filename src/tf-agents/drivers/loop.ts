/** Implements the loop between environment and policy that all drivers share. */
import { abortable } from "../../base/wait.ts";
import { ItemPromise } from "../../tables/item-promise.ts";
import { isPromise, type Task } from "../awaitable.ts";
import type { TimeStep } from "../time-step.ts";
import { fromTransition, isBoundary, isLast, type PolicyStep, type Trajectory } from "../trajectory.ts";
import type { Transition } from "../transitions/transition.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { copyTimeStep, type Environment, first, type Observers, type Policy, toTimeStep } from "./environment.ts";

/** The state after a drive, from which the next drive continues, and the counts of the drive. */
export interface DriveState<O = unknown> {
  readonly timeStep: TimeStep<O>;
  readonly policyState: unknown;
  readonly steps: number;
  readonly episodes: number;
}

/** The settings in which the drivers differ. */
export interface DriverMode {
  /** Whether transition observers are called before the other observers. */
  readonly transitionsFirst: boolean;
  /** The policy state of a transition: before its action, or after it. */
  readonly statePhase: "before" | "after";
  /**
   * When the policy state restarts: at the end of an episode ("over"), or with the first action of the next episode in the same run ("acting"). For a batch,
   * the loop never restarts the state, because the policy resets its rows itself.
   */
  readonly stateReset: "over" | "acting" | "never";
}

export interface Limits {
  readonly steps: number;
  readonly episodes: number;
  /** The maximum number of iterations of the loop. */
  readonly iterations: number;
  /** Whether an episode counts after its boundary step, rather than after its last step. */
  readonly onBoundary: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The start of a run. By default, the environment is reset, and the policy has its initial state. */
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
  /** Whether the state restarts with the next action. */
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

/** Waits for a value that is a promise. The wait ends if the signal aborts. */
function* awaitValue<T>(value: Awaitable<T>, signal: AbortSignal | undefined): Task<T> {
  if (!isPromise(value)) return value;
  if (signal === undefined) return (yield value) as T;
  const within = (source: Promise<unknown>) => abortable(source, "the next step did not arrive", { signal });
  // If an observer's item is rejected after the driver has stopped, the observer's `flush` reports the error.
  return (yield value instanceof ItemPromise ? value.readWithin(within) : within(value)) as T;
}

function count(flags: boolean | Uint8Array): number {
  return typeof flags === "boolean" ? Number(flags) : flags.reduce((sum, flag) => sum + flag, 0);
}
