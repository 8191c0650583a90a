/** Implements `drive`, a function that runs the loop between an environment and a policy. Modelled on `PyDriver` of TF-Agents. */
import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { toAwaitable } from "../awaitable.ts";
import type { Awaitable } from "../writers/step-client.ts";
import {
  checkParts,
  type Environment,
  functionsIn,
  type InfoObserver,
  isTimeStep,
  type Observer,
  type Policy,
  type TransitionObserver,
} from "./environment.ts";
import { type DriveState, loop } from "./loop.ts";

export interface DriveLimit<O = unknown, A = unknown> {
  /** The maximum number of environment steps, not counting the steps between two episodes. In a batch, every row counts. */
  readonly steps?: number;
  /** The maximum number of episodes, each with its boundary step. */
  readonly episodes?: number;
  /** A signal that aborts the loop between two steps or during a wait. The loop throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** The observers of transitions, called before the observers of trajectories. The action step of a transition has the policy state from before the action. */
  readonly transitionObservers?: readonly TransitionObserver<O, A>[];
  /** The observers that receive the result of the environment's `getInfo`, called after the other observers. */
  readonly infoObservers?: readonly InfoObserver[];
  /**
   * Whether an episode counts as complete after its boundary step. If false, it counts after its last step, and the next drive produces the boundary step.
   * Default: true.
   */
  readonly endEpisodeOnBoundary?: boolean;
}

const LIMIT = "steps, episodes, signal, transitionObservers, infoObservers, endEpisodeOnBoundary";

/**
 * Lets a policy act in an environment, and passes every trajectory to every observer, in order. A boundary trajectory follows the last step of an episode, so
 * observers see the end of the episode. The state of a policy object restarts with each episode. The result is a promise only if the environment, the policy or
 * an observer returns a promise. Observers do so while a table has no room. With `steps: 0`, returns the first step immediately.
 * @param from the result of an earlier drive, which this drive continues. Default: a new episode
 * @throws RangeError if no limit is set
 */
export function drive<O, A>(
  environment: Environment<O, A>,
  policy: Policy<O, A>,
  observers: readonly Observer<O, A>[],
  limit: DriveLimit<O, A>,
  from?: DriveState<O>,
): Awaitable<DriveState<O>> {
  const { steps, episodes, signal, transitionObservers = [], infoObservers = [], endEpisodeOnBoundary = true } = onlyKeys("limit", limit, LIMIT);
  if (steps === undefined && episodes === undefined) throw new RangeError("limit must set steps or episodes, because otherwise drive would never end");
  if (steps !== undefined) integer("limit.steps", steps, 0);
  if (episodes !== undefined) integer("limit.episodes", episodes, 0);
  checkSignalOf("limit.signal", signal);
  flag("limit.endEpisodeOnBoundary", endEpisodeOnBoundary);
  const allObservers = {
    observers: functionsIn("observers", observers),
    transitionObservers: functionsIn("limit.transitionObservers", transitionObservers),
    infoObservers: functionsIn("limit.infoObservers", infoObservers),
  };
  checkParts(environment, policy, allObservers.infoObservers);
  if (from !== undefined && !isTimeStep(from?.timeStep)) throw mustBe(TypeError, "from", "the result of an earlier call to drive", from);
  const limits = { steps: steps ?? Infinity, episodes: episodes ?? Infinity, iterations: Infinity, onBoundary: endEpisodeOnBoundary, signal };
  const start = from === undefined ? {} : { timeStep: from.timeStep, policyState: { is: from.policyState } };
  return toAwaitable(loop(environment, policy, allObservers, limits, { transitionsFirst: true, statePhase: "before", stateReset: "over" }, start));
}

/** Checks that a signal is undefined or an AbortSignal. @throws TypeError if it is neither */
export function checkSignalOf(subject: string, signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw mustBe(TypeError, subject, "an AbortSignal", signal);
}
