/** Implements `ReplayBuffer` of PFRL: uniform experience replay. */

import { integer } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { contentOfTransitions } from "../files/transitions-history.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { TransitionBatch } from "../rows/transition-batch.ts";
import { Transitions } from "../store/transitions.ts";
import type { Transition } from "../transition.ts";
import { type BufferOptions, StoredBuffer } from "./stored-buffer.ts";

export interface ReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S> {
  /** The maximum number of transitions. Default: null, for no limit except memory. */
  readonly capacity?: number | null;
  /** The maximum number of steps in a stored transition, for n-step updates. Transitions at the end of an episode have fewer steps. Default: 1. */
  readonly numSteps?: number;
}

export class ReplayBuffer<const S extends StepSpec = StepSpec> extends StoredBuffer<TransitionBatch<S>, Transition[]> {
  readonly numSteps: number;

  constructor(options?: ReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: Omit<ReplayBufferOptions<S>, "capacity">);
  constructor(capacity?: number | null, numSteps?: number, options?: BufferOptions<S>);
  constructor(...args: unknown[]) {
    hideFrames(new.target);
    const { capacity, numSteps = 1, spec, ...engine } = argumentsOf("ReplayBuffer", ["capacity", "numSteps"], args) as ReplayBufferOptions<S>;
    integer("numSteps", numSteps, 1, MAX_LENGTH);
    const stored = new Transitions({ capacity: capacityOf(capacity), numSteps, spec, engine });
    super(stored, contentOfTransitions(stored));
    this.numSteps = numSteps;
  }
}
