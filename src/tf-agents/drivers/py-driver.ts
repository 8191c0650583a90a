/** Implements `PyDriver` of TF-Agents, a driver that is created once and run many times. */

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
  /** The observers of transitions, called before the observers of trajectories. The action step of a transition has the policy state from before the action. */
  readonly transitionObservers?: readonly TransitionObserver<O, A>[];
  /** The observers that receive the result of the environment's `getInfo`, called after the other observers. */
  readonly infoObservers?: readonly InfoObserver[];
  /** The maximum number of environment steps per run, not counting the steps between two episodes. In a batch, every row counts. Default: 0, for no limit. */
  readonly maxSteps?: number;
  /** The maximum number of episodes per run. Default: 0, for no limit. At least one of the two limits is required. */
  readonly maxEpisodes?: number;
  /**
   * Whether an episode counts as complete after its boundary step. If false, it counts after its last step, so transition observers see no boundary in a run of
   * one episode. Default: true.
   */
  readonly endEpisodeOnBoundary?: boolean;
}

export interface RunOptions {
  /** A signal that aborts the run between two steps or during a wait. The run throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export class PyDriver<O = unknown, A = unknown> {
  readonly environment: Environment<O, A>;
  readonly policy: Policy<O, A>;
  readonly #observers: Observers<O, A>;
  readonly #maxSteps: number;
  readonly #maxEpisodes: number;
  readonly #onBoundary: boolean;

  /**
   * Creates a driver.
   * @throws TypeError if an argument is invalid
   * @throws RangeError if no limit is set
   */
  constructor(environment: Environment<O, A>, policy: Policy<O, A>, observers: readonly Observer<O, A>[], options: PyDriverOptions<O, A> = {}) {
    hideFrames(new.target);
    onlyKeys("options", options, "transitionObservers, infoObservers, maxSteps, maxEpisodes, endEpisodeOnBoundary");
    const { transitionObservers = [], infoObservers = [], maxSteps = 0, maxEpisodes = 0, endEpisodeOnBoundary = true } = options;
    integer("maxSteps", maxSteps, 0);
    integer("maxEpisodes", maxEpisodes, 0);
    if (maxSteps === 0 && maxEpisodes === 0) throw mustBe(RangeError, "maxSteps or maxEpisodes", "at least 1, because otherwise a run would never end", 0);
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
   * Lets the policy act until a limit is reached. Returns a promise only if the environment, the policy or an observer does. For a single environment, the
   * policy's state restarts with the first action of each episode, except in the first episode of the run.
   * @param timeStep the step to continue from, such as the last step of an earlier run. Default: a reset of the environment
   * @param policyState the policy's state. Default: its initial state
   * @throws TypeError if an argument is invalid
   */
  run(timeStep?: TimeStep<O>, policyState?: unknown, options: RunOptions = {}): Awaitable<DriveState<O>> {
    const { signal } = onlyKeys("options", options, "signal");
    checkSignalOf("signal", signal);
    const limits = { steps: this.#maxSteps, episodes: this.#maxEpisodes, iterations: Infinity, onBoundary: this.#onBoundary, signal };
    const mode = { transitionsFirst: true, statePhase: "before", stateReset: "acting" } as const;
    return toAwaitable(loop(this.environment, this.policy, this.#observers, limits, mode, startOf(timeStep, policyState)));
  }
}

/** Returns the start of a run. @throws TypeError if the time step is invalid */
export function startOf<O>(timeStep: TimeStep<O> | undefined, policyState: unknown): Start<O> {
  if (timeStep !== undefined && !isTimeStep(timeStep)) throw mustBe(TypeError, "timeStep", "a TimeStep", timeStep);
  return { timeStep, policyState: policyState === undefined ? undefined : { is: policyState } };
}
