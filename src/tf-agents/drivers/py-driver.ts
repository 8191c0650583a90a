/** TF-Agents' `PyDriver`: a driver that is made once and run often. */

import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { toAwaitable } from "../awaitable.ts";
import type { TimeStep } from "../time-step.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { checkSignalOf } from "./drive.ts";
import {
  checkParts,
  type Environment,
  functionsIn,
  type InfoObserver,
  isTimeStep,
  type Observer,
  type Observers,
  type Policy,
  type TransitionObserver,
} from "./environment.ts";
import { type DriveState, loop, type Start } from "./loop.ts";

export interface PyDriverOptions<O = unknown, A = unknown> {
  /** Are called with every transition, before the observers. Its action step has the policy's state from before the action. */
  readonly transitionObservers?: readonly TransitionObserver<O, A>[];
  /** Are called with what the environment's `getInfo` gives, after the observers. */
  readonly infoObservers?: readonly InfoObserver[];
  /** Environment steps of a run at most, those between two episodes not counted; of a batch all rows count. 0, or left out: without a limit. */
  readonly maxSteps?: number;
  /** Episodes of a run at most. 0, or left out: without a limit. One of both limits must be there. */
  readonly maxEpisodes?: number;
  /** Whether an episode counts with its boundary step; false for transition observers, which see none then in a run of one episode. true where it is left out. */
  readonly endEpisodeOnBoundary?: boolean;
}

export interface RunOptions {
  /** Ends the run with its reason, between two steps or while it waits. */
  readonly signal?: AbortSignal;
}

export class PyDriver<O = unknown, A = unknown> {
  readonly environment: Environment<O, A>;
  readonly policy: Policy<O, A>;
  readonly #observers: Observers<O, A>;
  readonly #maxSteps: number;
  readonly #maxEpisodes: number;
  readonly #onBoundary: boolean;

  /** @throws TypeError, RangeError without a limit */
  constructor(environment: Environment<O, A>, policy: Policy<O, A>, observers: readonly Observer<O, A>[], options: PyDriverOptions<O, A> = {}) {
    hideFrames(new.target);
    onlyKeys("options", options, "transitionObservers, infoObservers, maxSteps, maxEpisodes, endEpisodeOnBoundary");
    const { transitionObservers = [], infoObservers = [], maxSteps = 0, maxEpisodes = 0, endEpisodeOnBoundary = true } = options;
    integer("maxSteps", maxSteps, 0);
    integer("maxEpisodes", maxEpisodes, 0);
    if (maxSteps === 0 && maxEpisodes === 0) throw mustBe(RangeError, "maxSteps or maxEpisodes", "at least 1, or a run would never end", 0);
    this.#observers = {
      observers: functionsIn("observers", observers),
      transitionObservers: functionsIn("transitionObservers", transitionObservers),
      infoObservers: functionsIn("infoObservers", infoObservers),
    };
    checkParts(environment, policy, this.#observers.infoObservers);
    this.environment = environment;
    this.policy = policy;
    this.#maxSteps = maxSteps || Infinity;
    this.#maxEpisodes = maxEpisodes || Infinity;
    this.#onBoundary = flag("endEpisodeOnBoundary", endEpisodeOnBoundary) !== 0;
  }

  /**
   * Lets the policy act until a limit is reached. A promise only where environment, policy or an observer gives one. The policy's state of a single environment begins anew
   * with the first action of each episode but the run's first.
   * @param timeStep where to go on, such as an earlier run's; the environment's reset where it is left out
   * @param policyState the policy's initial one where it is left out
   * @throws TypeError
   */
  run(timeStep?: TimeStep<O>, policyState?: unknown, options: RunOptions = {}): Awaitable<DriveState<O>> {
    const { signal } = onlyKeys("options", options, "signal");
    checkSignalOf("signal", signal);
    const limits = { steps: this.#maxSteps, episodes: this.#maxEpisodes, iterations: Infinity, onBoundary: this.#onBoundary, signal };
    const mode = { transitionsFirst: true, statePhase: "before", stateReset: "acting" } as const;
    return toAwaitable(loop(this.environment, this.policy, this.#observers, limits, mode, startOf(timeStep, policyState)));
  }
}

/** @throws TypeError */
export function startOf<O>(timeStep: TimeStep<O> | undefined, policyState: unknown): Start<O> {
  if (timeStep !== undefined && !isTimeStep(timeStep)) throw mustBe(TypeError, "timeStep", "a TimeStep", timeStep);
  return { timeStep, policyState: policyState === undefined ? undefined : { is: policyState } };
}
