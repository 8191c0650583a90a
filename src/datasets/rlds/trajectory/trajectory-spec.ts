/** The spec of the trajectories that a dataset becomes: TF-Agents' `create_trajectory_data_spec`. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { f32, i32 } from "../../../schema/constructors.ts";
import type { Leaf } from "../../../schema/leaf.ts";
import type { Spec } from "../../../schema/spec.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { checkIterable } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeStep, mustBeStepSpec } from "../../model/step-fields.ts";
import { stepSpecOf } from "../../model/step-spec.ts";
import { firstInfo, type PolicyInfoFn, policyInfoSpec, replayable, zeroStep } from "./policy-info.ts";

/** A leaf that tells its bounds as well. */
export interface BoundedLeaf extends Leaf<"f32", readonly []> {
  readonly minimum: number;
  readonly maximum: number;
}

/** Of a trajectory, under the names that `trajectorySpec` of reprise/agents has; observation, action and reward are as the data has them. */
export interface TrajectoryDataSpec {
  readonly stepType: Leaf<"i32", readonly []>;
  readonly observation: Spec;
  readonly action: Spec;
  readonly policyInfo: Spec;
  readonly nextStepType: Leaf<"i32", readonly []>;
  readonly reward: Spec;
  readonly discount: BoundedLeaf;
  // A spec nests under any name.
  readonly [name: string]: Spec;
}

/**
 * What the client, its tables and a replay buffer are made with to hold this dataset. Metadata of steps is left out. Reads no step where the dataset has a `stepSpec`, else the first,
 * and the first two where there is a `policyInfoFn`, which is called with them:
 * give a function that makes one (`rldsDataset`) instead of a generator, which would be without that step then. Numbers without a typed array are f32.
 * @throws RldsError EMPTY where there are no steps, SPEC_MISMATCH where a field of RLDS is missing, UNSUPPORTED for observations or actions that are bytes, or
 * text without a limit
 */
export async function createTrajectoryDataSpec(
  rlds: RldsDataset,
  policyInfoFn?: PolicyInfoFn,
  options: TrajectoryDataSpecOptions = {},
): Promise<TrajectoryDataSpec> {
  const limit = checkLimit(options);
  if (policyInfoFn === undefined) return dataSpecOf(await specOf(rlds), limit);
  const [step, second] = (await firstSteps(rlds, 2)) as RldsStep[];
  const stepSpec = rlds.stepSpec ?? stepSpecOf(mustBeStep(step));
  const spec = dataSpecOf(stepSpec, limit);
  const next = second ?? zeroStep(stepSpec);
  return { ...spec, policyInfo: policyInfoSpec(firstInfo(policyInfoFn, stepSpec, step as RldsStep, next), limit) };
}

/** What a Replay holds of each step for transitions: RLDS's fields that learning reads, as the data has them. */
export interface TransitionSpec {
  readonly observation: Spec;
  readonly action: Spec;
  readonly reward: Spec;
  readonly discount: Spec;
  readonly [name: string]: Spec;
}

/**
 * What a Replay is made with that `pushEpisodes` fills. It may have other leaves of the data's steps beside these, or fewer; and a Replay of an environment has its own spec.
 * Reads as `createTrajectoryDataSpec`, and throws what that does.
 */
export async function createTransitionSpec(rlds: RldsDataset, options: TrajectoryDataSpecOptions = {}): Promise<TransitionSpec> {
  const limit = checkLimit(options);
  const spec = mustBeStepSpec(await specOf(rlds));
  const field = (name: string) => replayable(spec[name] as StepSpec, name, limit);
  return { observation: field("observation"), action: field("action"), reward: field("reward"), discount: field("discount") };
}

async function specOf(rlds: RldsDataset): Promise<StepSpec> {
  if (rlds?.stepSpec !== undefined) return rlds.stepSpec;
  const [step] = await firstSteps(rlds, 1);
  // A spec may be known from then on.
  return rlds.stepSpec ?? stepSpecOf(mustBeStep(step));
}

function checkLimit(options: TrajectoryDataSpecOptions): number | undefined {
  const { maxTextBytes } = onlyKeys("options", options, "maxTextBytes");
  return maxTextBytes === undefined ? maxTextBytes : integer("maxTextBytes", maxTextBytes, 1);
}

export interface TrajectoryDataSpecOptions {
  /** Bytes that a string of the data may have in UTF-8, where the dataset's `stepSpec` does not say it (`text({ maxBytes })`). Needed if observations or actions have text. */
  readonly maxTextBytes?: number;
}

const DISCOUNT: BoundedLeaf = { ...f32(), minimum: 0, maximum: 1 };

/** The same of a spec of steps, without policyInfo. */
export function dataSpecOf(stepSpec: StepSpec, maxTextBytes: number | undefined): TrajectoryDataSpec {
  const { observation, action, reward } = mustBeStepSpec(stepSpec);
  return {
    stepType: i32(),
    observation: replayable(observation as StepSpec, "observation", maxTextBytes),
    action: replayable(action as StepSpec, "action", maxTextBytes),
    policyInfo: [],
    nextStepType: i32(),
    reward: replayable(reward as StepSpec, "reward", maxTextBytes),
    discount: DISCOUNT,
  };
}

/** The first steps of all, as many as there are up to n. @throws RldsError EMPTY */
async function firstSteps(rlds: RldsDataset, n: number): Promise<unknown[]> {
  const leaves: unknown[] = [];
  let number = 0;
  for await (const episode of checkIterable("rlds", rlds) as AsyncIterable<RldsEpisode>) {
    const steps = mustHaveSteps(episode, number++);
    const keep = createStepCopier(steps);
    for await (const step of steps) if (leaves.push(keep(step)) === n) return leaves;
  }
  if (leaves.length === 0) throw noSteps();
  return leaves;
}

export function noSteps(): RldsError {
  return new RldsError("EMPTY", "the dataset has no steps");
}

/** @throws RldsError SPEC_MISMATCH for an episode without steps to go through */
export function mustHaveSteps<S>(episode: { readonly steps: Iterable<S> | AsyncIterable<S> }, number: number): Iterable<S> | AsyncIterable<S> {
  const steps = (episode as { readonly steps?: unknown } | null)?.steps as (Iterable<S> & AsyncIterable<S>) | undefined;
  if (typeof steps === "object" && steps !== null && (Symbol.iterator in steps || Symbol.asyncIterator in steps)) return steps;
  throw new RldsError("SPEC_MISMATCH", "an episode must be an object whose steps are an iterable or an async iterable", { episode: number });
}
