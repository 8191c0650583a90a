/** Converts RLDS steps to trajectories, like `convert_rlds_to_trajectories` of TF-Agents, or to windows of trajectories. */

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
  /** The number of trajectories per window. */
  readonly sequenceLength: number;
  /** The number of trajectories between the starts of two consecutive windows. Default: 1. */
  readonly strideLength?: number;
}

/** The trajectory of one step. The step types are numbers. */
export interface StepTrajectory<P = unknown> extends Trajectory<AnyValue, AnyValue, P> {
  readonly stepType: number;
  readonly nextStepType: number;
}

/**
 * Returns one trajectory per step, as TF-Agents creates them from pairs of adjacent steps. The last step of an episode becomes a boundary. The last step of the
 * dataset is treated as if a first step came after it. If `is_terminal` is true, the discount is 0. If an episode ends with a transition, its last observation
 * is repeated, as with `withFinalObservations`.
 *
 * With `sequenceLength`, returns windows like those that the trajectory observer writes. No window spans two episodes. Every leaf is a column `{data, shape:
 * [sequenceLength, …]}`.
 *
 * A step is passed on when the next step has arrived. The arrays of steps from a generator are copied first, because the generator may reuse them. Other steps
 * are not copied. Works as a stream. Each step costs O(bytes).
 * @throws RldsError EMPTY if there are no steps
 * @throws RldsError SPEC_MISMATCH if a step lacks an RLDS field
 * @throws RldsError INVALID_DATA if an episode does not end with a last step, if a terminal step is not the last step of its episode, or if a last step is not
 * followed by a first step. In each case, all trajectories before the fault are returned first
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
    throw mustBe(TypeError, "policyInfoFn", "a function of (step, next) or undefined", policyInfoFn);
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

/** Yields the trajectories of a dataset. @param begin receives the spec of the trajectories before the first trajectory */
export async function* trajectories(
  rlds: RldsDataset,
  policyInfoFn: PolicyInfoFn | undefined,
  begin?: (spec: TrajectoryDataSpec) => unknown,
  pairing: Pairing = new Pairing(policyInfoFn),
): AsyncGenerator<Trajectory, void, undefined> {
  const episodes = withFinalObservations(rlds) as AsyncIterable<RldsEpisode>;
  let { stepSpec } = rlds;
  // The spec is not used for a Replay, so the limit on text does not matter.
  const limit = Number.MAX_SAFE_INTEGER;
  let dataSpec: TrajectoryDataSpec | undefined;
  const setSpec = (spec: StepSpec) => {
    stepSpec = spec;
    pairing.stepSpec = spec;
    // The spec is computed even if it is never read, so a missing field throws before the first trajectory.
    dataSpec = dataSpecOf(spec, limit);
  };
  if (stepSpec !== undefined) setSpec(stepSpec);
  let isFirst = begin !== undefined;
  /** Called before the first trajectory, which determines the form of policyInfo, is passed on. */
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
