/** Implements `PrioritizedReplayBuffer` of PFRL: experience replay in proportion to errors (Schaul et al., 2016). */

import { integer } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { contentOfTransitions } from "../files/transitions-history.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { WeightedBatch } from "../rows/transition-batch.ts";
import type { NormalizeByMax, WeighingOptions } from "../store/importance-weights.ts";
import { Priorities } from "../store/priorities.ts";
import { Transitions } from "../store/transitions.ts";
import type { Transition } from "../transition.ts";
import { PrioritizedBuffer } from "./prioritized-buffer.ts";
import type { BufferOptions } from "./stored-buffer.ts";

export interface PrioritizedReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S>, WeighingOptions {
  /** The maximum number of transitions. Default: null, for no limit except memory. */
  readonly capacity?: number | null;
  /** The maximum number of steps in a stored transition, for n-step updates. Transitions at the end of an episode have fewer steps. Default: 1. */
  readonly numSteps?: number;
  /** Whether `sample` and `updateErrors` must alternate, as in PFRL. Default: true. */
  readonly waitPriorityAfterSampling?: boolean;
}

const NAMES = ["capacity", "alpha", "beta0", "betaSteps", "eps", "normalizeByMax", "errorMin", "errorMax", "numSteps"];

export class PrioritizedReplayBuffer<const S extends StepSpec = StepSpec> extends PrioritizedBuffer<WeightedBatch<S>, Transition[]> {
  readonly numSteps: number;

  constructor(options?: PrioritizedReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: Omit<PrioritizedReplayBufferOptions<S>, "capacity">);
  constructor(
    capacity?: number | null,
    alpha?: number,
    beta0?: number,
    betaSteps?: number | null,
    eps?: number,
    normalizeByMax?: NormalizeByMax,
    errorMin?: number | null,
    errorMax?: number | null,
    numSteps?: number,
    options?: BufferOptions<S> & Pick<PrioritizedReplayBufferOptions, "waitPriorityAfterSampling">,
  );
  constructor(...args: unknown[]) {
    hideFrames(new.target);
    const options = argumentsOf("PrioritizedReplayBuffer", NAMES, args, ["waitPriorityAfterSampling"]) as PrioritizedReplayBufferOptions<S>;
    const { capacity, numSteps = 1, waitPriorityAfterSampling = true, spec, maxBytes, seed, packed, module, ...weightOptions } = options;
    integer("numSteps", numSteps, 1, MAX_LENGTH);
    const engine = { maxBytes, seed, packed, module };
    const fixedOptions = { waitPriorityAfterSampling, uniformRatio: 0, returnSampleWeights: true, zeros: false, engine };
    const priorities = new Priorities({ eps: 0.01, errorMin: 0, errorMax: 1, ...weightOptions, ...fixedOptions });
    const stored = new Transitions({ capacity: capacityOf(capacity), numSteps, spec, engine, priorities });
    super(stored, contentOfTransitions(stored), priorities);
    this.numSteps = numSteps;
  }
}
