/** The one loop between environment and policy; drivers are forms of it. */
import { within } from "../../base/wait.ts";
import { isPromise, type Waiting } from "../settle.ts";
import type { TimeStep } from "../time-step.ts";
import { fromTransition, isBoundary, isLast, type PolicyStep, type Trajectory } from "../trajectory.ts";
import type { Transition } from "../transitions/transition.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { type Environment, first, following, type Observers, ownTimeStep, type Policy } from "./environment.ts";

/** Where a drive stopped, for the next one to go on from; and what it did. */
export interface DriveState<O = unknown> {
  readonly timeStep: TimeStep<O>;
  readonly policyState: unknown;
  readonly steps: number;
  readonly episodes: number;
}

/** What drivers do each in its own way. */
export interface Manner {
  /** Whether transition observers are told before the others. */
  readonly transitionsFirst: boolean;
  /** Which state of the policy a transition has: that before its action, or the one after it. */
  readonly shows: "before" | "after";
  /** When the state begins anew: where an episode is over, or only where the next one of the same run acts; never that of a batch, whose rows are the policy's affair. */
  readonly anew: "over" | "acting" | "never";
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
  { transitionsFirst, shows, anew }: Manner,
  start: Start<O>,
): Waiting<DriveState<O>> {
  const now = <T>(value: Awaitable<T>) => waited(value, signal);
  let timeStep = start.timeStep === undefined ? first<O>(yield* now(environment.reset())) : ownTimeStep(start.timeStep);
  const batchSize = typeof timeStep.reward === "number" ? undefined : timeStep.reward.length;
  const initialState = () => (typeof policy === "function" ? undefined : policy.initialState?.(batchSize));
  let policyState = start.policyState === undefined ? initialState() : start.policyState.is;
  let steps = 0;
  let episodes = 0;
  /** Whether the state begins anew with the next action. */
  let anewNext = false;
  for (let turn = 0; turn < iterations && steps < maxSteps && episodes < maxEpisodes; turn++) {
    signal?.throwIfAborted();
    if (anewNext) policyState = initialState();
    anewNext = false;
    const answer: PolicyStep<A> =
      typeof policy === "function" ? { action: yield* now(policy(timeStep.observation, timeStep)) } : yield* now(policy.action(timeStep, policyState));
    const over = batchSize === undefined && isLast(timeStep) === true;
    const next = over ? first<O>(yield* now(environment.reset())) : following(yield* now(environment.step(answer.action)));
    const trajectory = fromTransition(timeStep, answer, next) as Trajectory<O, A, never>;
    const state = answer.state ?? policyState;
    if (!transitionsFirst) for (const observer of observers) yield* now(observer(trajectory));
    if (transitionObservers.length > 0) {
      const actionStep = { action: answer.action, state: (shows === "before" ? policyState : state) ?? [], info: (answer.info ?? []) as never };
      const transition: Transition<TimeStep<O>, A, never> = { timeStep, actionStep, nextTimeStep: next };
      for (const observer of transitionObservers) yield* now(observer(transition));
    }
    if (transitionsFirst) for (const observer of observers) yield* now(observer(trajectory));
    for (const observer of infoObservers) yield* now(observer((yield* now(environment.getInfo?.())) as never));
    const boundaries = count(isBoundary(trajectory));
    steps += (batchSize ?? 1) - boundaries;
    episodes += onBoundary ? boundaries : count(isLast(trajectory));
    timeStep = next;
    policyState = over && anew === "over" ? initialState() : state;
    anewNext = over && anew === "acting" && episodes > 0;
  }
  return { timeStep, policyState, steps, episodes };
}

/** A value, waited for where it is a promise, but no longer than the signal lets. */
function* waited<T>(value: Awaitable<T>, signal: AbortSignal | undefined): Waiting<T> {
  if (!isPromise(value)) return value;
  return (yield signal === undefined ? value : within(value, "the next step", { signal })) as T;
}

function count(flags: boolean | Uint8Array): number {
  return typeof flags === "boolean" ? Number(flags) : flags.reduce((sum, flag) => sum + flag, 0);
}
