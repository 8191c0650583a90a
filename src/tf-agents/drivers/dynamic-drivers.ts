/** Implements `DynamicStepDriver` and `DynamicEpisodeDriver` of TF-Agents, which count steps or episodes of batched environments. */

import { integer, onlyKeys } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { isPromise, type Task, toAwaitable } from "../awaitable.ts";
import type { TimeStep } from "../time-step.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { checkSignalOf } from "./drive.ts";
import { checkParts, type Environment, functionsIn, type Observer, type Observers, type Policy, type TransitionObserver } from "./environment.ts";
import { type DriveState, loop, type Start } from "./loop.ts";
import { type RunOptions, startOf } from "./py-driver.ts";

interface DynamicDriverOptions<O, A> {
  /** The observers of transitions, called after the observers of trajectories. The action step of a transition has the policy state from after the action. */
  readonly transitionObservers?: readonly TransitionObserver<O, A>[];
}

export interface DynamicStepDriverOptions<O = unknown, A = unknown> extends DynamicDriverOptions<O, A> {
  /** The number of steps per run, not counting the steps between two episodes. In a batch, every row counts, so a run may have a few more steps. Default: 1. */
  readonly numSteps?: number;
}

export interface DynamicEpisodeDriverOptions<O = unknown, A = unknown> extends DynamicDriverOptions<O, A> {
  /** The number of episodes per run, each including its boundary step. In a batch, every row counts. Default: 1. */
  readonly numEpisodes?: number;
}

export interface DynamicRunOptions extends RunOptions {
  /** The maximum number of times that the batch of environments is stepped. */
  readonly maximumIterations?: number;
}

const MODE = { transitionsFirst: false, statePhase: "after", stateReset: "never" } as const;

/** The base of both drivers. The policy's state continues across episodes. Only the policy itself can reset it. */
class DriverCore<O, A> {
  readonly environment: Environment<O, A>;
  readonly policy: Policy<O, A>;
  readonly #observers: Observers<O, A>;

  /** @throws TypeError if the environment, the policy or an observer has the wrong form */
  constructor(
    environment: Environment<O, A>,
    policy: Policy<O, A>,
    observers: readonly Observer<O, A>[],
    transitionObservers: readonly TransitionObserver<O, A>[] = [],
  ) {
    this.#observers = {
      observers: functionsIn("observers", observers),
      transitionObservers: functionsIn("transitionObservers", transitionObservers),
      infoObservers: [],
    };
    checkParts(environment, policy, []);
    this.environment = environment;
    this.policy = policy;
  }

  loop(limit: { readonly steps?: number; readonly episodes?: number }, { maximumIterations, signal }: DynamicRunOptions, start: Start<O>): Task<DriveState<O>> {
    if (maximumIterations !== undefined) integer("maximumIterations", maximumIterations, 0);
    checkSignalOf("signal", signal);
    const limits = { steps: Infinity, episodes: Infinity, iterations: maximumIterations ?? Infinity, onBoundary: true, signal, ...limit };
    return loop(this.environment, this.policy, this.#observers, limits, MODE, start);
  }
}

export class DynamicStepDriver<O = unknown, A = unknown> {
  readonly #core: DriverCore<O, A>;
  readonly #numSteps: number;
  /** The time step at which the last run stopped. */
  #last: TimeStep<O> | undefined;

  /**
   * Creates a driver.
   * @param environment a batch of environments; a single environment is treated as a batch of one
   * @throws TypeError, RangeError if an argument is invalid
   */
  constructor(environment: Environment<O, A>, policy: Policy<O, A>, observers: readonly Observer<O, A>[] = [], options: DynamicStepDriverOptions<O, A> = {}) {
    hideFrames(new.target);
    const { transitionObservers, numSteps = 1 } = onlyKeys("options", options, "transitionObservers, numSteps");
    this.#numSteps = integer("numSteps", numSteps, 0);
    this.#core = new DriverCore(environment, policy, observers, transitionObservers);
  }

  /**
   * Lets the policy act for `numSteps` steps. Returns a promise only if the environment, the policy or an observer does.
   * @param timeStep the step to continue from. Default: the environment's current step
   * @param policyState the policy's state. Default: its initial state
   */
  run(timeStep?: TimeStep<O>, policyState?: unknown, options: DynamicRunOptions = {}): Awaitable<DriveState<O>> {
    onlyKeys("options", options, "maximumIterations, signal");
    const start = startOf(timeStep, policyState);
    return toAwaitable(this.#run(start, options));
  }

  *#run(start: Start<O>, options: DynamicRunOptions): Task<DriveState<O>> {
    const { environment } = this.#core;
    const current = start.timeStep ?? (environment.currentTimeStep === undefined ? this.#last : yield* awaitValue(environment.currentTimeStep()));
    const state = yield* this.#core.loop({ steps: this.#numSteps }, options, { ...start, timeStep: current });
    this.#last = state.timeStep;
    return state;
  }
}

export class DynamicEpisodeDriver<O = unknown, A = unknown> {
  readonly #core: DriverCore<O, A>;
  readonly #numEpisodes: number;

  /**
   * Creates a driver.
   * @param environment a batch of environments; a single environment is treated as a batch of one
   * @throws TypeError, RangeError if an argument is invalid
   */
  constructor(
    environment: Environment<O, A>,
    policy: Policy<O, A>,
    observers: readonly Observer<O, A>[] = [],
    options: DynamicEpisodeDriverOptions<O, A> = {},
  ) {
    hideFrames(new.target);
    const { transitionObservers, numEpisodes = 1 } = onlyKeys("options", options, "transitionObservers, numEpisodes");
    this.#numEpisodes = integer("numEpisodes", numEpisodes, 0);
    this.#core = new DriverCore(environment, policy, observers, transitionObservers);
  }

  /**
   * Lets the policy act for `numEpisodes` episodes in total over all rows. Short episodes are therefore overrepresented. Returns a promise only if the
   * environment, the policy or an observer does.
   * @param timeStep the step to continue from. Default: a reset of the environment
   * @param policyState the policy's state. Default: its initial state
   */
  run(timeStep?: TimeStep<O>, policyState?: unknown, options: DynamicRunOptions & { readonly numEpisodes?: number } = {}): Awaitable<DriveState<O>> {
    const { numEpisodes = this.#numEpisodes } = onlyKeys("options", options, "numEpisodes, maximumIterations, signal");
    integer("numEpisodes", numEpisodes, 0);
    return toAwaitable(this.#core.loop({ episodes: numEpisodes }, options, startOf(timeStep, policyState)));
  }
}

function* awaitValue<T>(value: Awaitable<T>): Task<T> {
  return isPromise(value) ? ((yield value) as T) : value;
}
