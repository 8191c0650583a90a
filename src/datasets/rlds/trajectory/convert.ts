/** RLDS steps as trajectories: TF-Agents' `convert_rlds_to_trajectories`, and windows of them. */

import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_LENGTH } from "../../../base/limits.ts";
import type { Trajectory } from "../../../tf-agents/trajectory.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { AnyValue, RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { mustBeStep } from "../../model/step-fields.ts";
import { stepSpecOf } from "../../model/step-spec.ts";
import { withFinalObservations } from "../transform/final-observations.ts";
import { Pairing } from "./pairing.ts";
import { type PolicyInfoFn, policyInfoSpec, zeroStep } from "./policy-info.ts";
import { dataSpecOf, mustHaveSteps, type TrajectoryDataSpec } from "./trajectory-spec.ts";
import { TrajectoryWindows, type WindowOf } from "./trajectory-windows.ts";

export interface WindowOptions {
  /** Trajectories of a window. */
  readonly sequenceLength: number;
  /** Trajectories from one window's beginning to the next one's; 1 where it is left out. */
  readonly strideLength?: number;
}

/** One step's: its types are numbers. */
export interface StepTrajectory<P = unknown> extends Trajectory<AnyValue, AnyValue, P> {
  readonly stepType: number;
  readonly nextStepType: number;
}

/**
 * One trajectory a step, as TF-Agents makes them of pairs of adjacent steps: the last step of an episode becomes a boundary, the one of all as if a first step followed; where
 * `is_terminal` is true, the discount is 0. Where an episode ends with a transition, its last observation is repeated, as by `withFinalObservations`. With a `sequenceLength`, windows instead: every leaf a column `{data, shape: [sequenceLength, …]}`, within one episode, as the trajectory observer writes them.
 * A step is handed on when the next one came: the arrays of steps that come from a generator are copied before, as it may use them again; those of arrays and columns are not. Streams; O(bytes) a step.
 * @throws RldsError EMPTY for no steps at all; INVALID_DATA where an episode does not end with a last step, a terminal step is not the last one, or a last one is not followed by a first one, after
 * all trajectories before it; SPEC_MISMATCH for a step without RLDS's fields
 */
export function convertRldsToTrajectories<P = readonly []>(rlds: RldsDataset, policyInfoFn?: PolicyInfoFn<RldsStep, P>): AsyncIterable<StepTrajectory<P>>;
export function convertRldsToTrajectories(rlds: RldsDataset, policyInfoFn: PolicyInfoFn | undefined, options: WindowOptions): AsyncIterable<WindowOf>;
export function convertRldsToTrajectories(rlds: RldsDataset, policyInfoFn?: PolicyInfoFn, options?: WindowOptions): AsyncIterable<Trajectory | WindowOf> {
  mustBeFn(policyInfoFn);
  if (options === undefined) return trajectories(rlds, policyInfoFn);
  const { sequenceLength, strideLength = 1 } = onlyKeys("options", options, "sequenceLength, strideLength");
  integer("sequenceLength", sequenceLength, 1, MAX_LENGTH);
  integer("strideLength", strideLength, 1, MAX_LENGTH);
  return windows(rlds, policyInfoFn, sequenceLength, strideLength);
}

export function mustBeFn(policyInfoFn: unknown): void {
  if (policyInfoFn !== undefined && typeof policyInfoFn !== "function")
    throw mustBe(TypeError, "policyInfoFn", "a function (step, next), or left out", policyInfoFn);
}

async function* windows(rlds: RldsDataset, policyInfoFn: PolicyInfoFn | undefined, length: number, stride: number): AsyncGenerator<WindowOf, void, undefined> {
  let windows: TrajectoryWindows | undefined;
  const begin = (spec: TrajectoryDataSpec) => {
    windows = new TrajectoryWindows(spec, length, stride);
  };
  const pairing = new Pairing(policyInfoFn);
  for await (const trajectory of trajectories(rlds, policyInfoFn, begin, pairing)) {
    const window = windows?.take(trajectory, pairing.place);
    if (window !== undefined) yield window;
  }
}

/** @param begin is given the spec of the trajectories, before the first of them */
export async function* trajectories(
  rlds: RldsDataset,
  policyInfoFn: PolicyInfoFn | undefined,
  begin?: (spec: TrajectoryDataSpec) => unknown,
  pairing: Pairing = new Pairing(policyInfoFn),
): AsyncGenerator<Trajectory, void, undefined> {
  const episodes = withFinalObservations(rlds) as AsyncIterable<RldsEpisode>;
  let { stepSpec } = rlds;
  // No Replay is made by it: text may have any limit.
  const limit = Number.MAX_SAFE_INTEGER;
  let dataSpec: TrajectoryDataSpec | undefined;
  const setSpec = (spec: StepSpec) => {
    stepSpec = spec;
    pairing.stepSpec = spec;
    // Also where nobody asks for it: a field that is missing is an error before the first trajectory.
    dataSpec = dataSpecOf(spec, limit);
  };
  if (stepSpec !== undefined) setSpec(stepSpec);
  let isFirst = begin !== undefined;
  /** Before the first trajectory is handed on: it tells what policyInfo is. */
  const onFirst = async (): Promise<void> => {
    isFirst = false;
    const policyInfo = pairing.firstInfo === undefined ? [] : policyInfoSpec(pairing.firstInfo, limit);
    await begin?.({ ...(dataSpec as TrajectoryDataSpec), policyInfo });
  };
  let episode = -1;
  for await (const source of episodes) {
    episode++;
    const steps = mustHaveSteps(source, episode);
    const keep = createStepCopier(steps);
    let index = 0;
    const pairStep = (step: unknown) => pairing.take(keep(step), episode, index++);
    if (Symbol.iterator in steps) {
      for (const step of steps) {
        if (stepSpec === undefined) setSpec(rlds.stepSpec ?? inferStepSpec(step, episode));
        const trajectory = pairStep(step);
        if (trajectory === undefined) continue;
        if (isFirst) await onFirst();
        yield trajectory;
      }
    } else {
      for await (const step of steps) {
        if (stepSpec === undefined) setSpec(rlds.stepSpec ?? inferStepSpec(step, episode));
        const trajectory = pairStep(step);
        if (trajectory === undefined) continue;
        if (isFirst) await onFirst();
        yield trajectory;
      }
    }
  }
  const last = pairing.end(zeroStep(stepSpec ?? []));
  if (isFirst) await onFirst();
  yield last;
}

function inferStepSpec(step: unknown, episode: number): StepSpec {
  const place = { episode, step: 0, pushed: 0 };
  return stepSpecOf(mustBeStep(step, place), place);
}
