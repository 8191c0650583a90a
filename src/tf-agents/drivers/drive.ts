/** `drive`: a loop between environment and policy as a function. After TF-Agents' `PyDriver`. */
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
  /** Environment steps at most, those between two episodes not counted. Of a batch all rows count. */
  readonly steps?: number;
  /** Episodes at most, each with its boundary step. */
  readonly episodes?: number;
  /** Ends the loop with its reason, between two steps or while it waits. */
  readonly signal?: AbortSignal;
  /** Are called with every transition, before the observers. Its action step has the policy's state from before the action. */
  readonly transitionObservers?: readonly TransitionObserver<O, A>[];
  /** Are called with what the environment's `getInfo` gives, after the observers. */
  readonly infoObservers?: readonly InfoObserver[];
  /** false: an episode counts with its last step, and the boundary step is left to the next drive. true where it is left out. */
  readonly endEpisodeOnBoundary?: boolean;
}

const LIMIT = "steps, episodes, signal, transitionObservers, infoObservers, endEpisodeOnBoundary";

/**
 * Lets a policy act in an environment, and gives every trajectory to every observer, in order. An episode's last step is followed by a boundary
 * trajectory, so that observers see its end; a policy object's state begins anew with each. Nothing is a promise unless environment, policy or an observer
 * gives one, as observers do where a table has no room: `await` it, where that can be. With steps 0 it returns at once, at the first step.
 * @param from where an earlier drive stopped; a new episode where it is left out
 * @throws RangeError without a limit
 */
export function drive<O, A>(
  environment: Environment<O, A>,
  policy: Policy<O, A>,
  observers: readonly Observer<O, A>[],
  limit: DriveLimit<O, A>,
  from?: DriveState<O>,
): Awaitable<DriveState<O>> {
  const { steps, episodes, signal, transitionObservers = [], infoObservers = [], endEpisodeOnBoundary = true } = onlyKeys("limit", limit, LIMIT);
  if (steps === undefined && episodes === undefined) throw new RangeError("limit must have steps or episodes, or drive would never end");
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
  if (from !== undefined && !isTimeStep(from?.timeStep)) throw mustBe(TypeError, "from", "what an earlier drive gave", from);
  const limits = { steps: steps ?? Infinity, episodes: episodes ?? Infinity, iterations: Infinity, onBoundary: endEpisodeOnBoundary, signal };
  const start = from === undefined ? {} : { timeStep: from.timeStep, policyState: { is: from.policyState } };
  return toAwaitable(loop(environment, policy, allObservers, limits, { transitionsFirst: true, statePhase: "before", stateReset: "over" }, start));
}

/** @throws TypeError */
export function checkSignalOf(subject: string, signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw mustBe(TypeError, subject, "an AbortSignal", signal);
}
