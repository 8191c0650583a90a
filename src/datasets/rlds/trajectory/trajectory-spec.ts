/** Derives the spec of the trajectories of a dataset, like `create_trajectory_data_spec` of TF-Agents. */
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

/** A leaf with bounds. */
export interface BoundedLeaf extends Leaf<"f32", readonly []> {
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * The spec of a trajectory, with the names of `trajectorySpec` in reprise/agents. The specs of the observation, the action and the reward come from the data.
 */
export interface TrajectoryDataSpec {
  readonly stepType: Leaf<"i32", readonly []>;
  readonly observation: Spec;
  readonly action: Spec;
  readonly policyInfo: Spec;
  readonly nextStepType: Leaf<"i32", readonly []>;
  readonly reward: Spec;
  readonly discount: BoundedLeaf;
  // Without an index signature, this interface would not be assignable to `Spec`.
  readonly [name: string]: Spec;
}

/**
 * Returns the spec of this dataset's trajectories. Use it to create the client, its tables and a replay buffer. The metadata of steps is left out. Numbers that
 * are not in a typed array become f32.
 *
 * If the dataset has a `stepSpec`, the call reads no step. Otherwise, it reads the first step. If there is a `policyInfoFn`, the call reads the first two steps
 * and passes them to the function. Pass a dataset that can be iterated again (`rldsDataset`), because a generator would lose these steps.
 * @throws RldsError EMPTY if there are no steps
 * @throws RldsError SPEC_MISMATCH if an RLDS field is missing
 * @throws RldsError UNSUPPORTED if observations or actions contain bytes, or text without a limit
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

/** The leaves that a Replay stores per step for transitions. Each field has the spec of the RLDS field with the same name. */
export interface TransitionSpec {
  readonly observation: Spec;
  readonly action: Spec;
  readonly reward: Spec;
  readonly discount: Spec;
  readonly [name: string]: Spec;
}

/**
 * Returns a spec for a Replay to which `pushEpisodes` can push this dataset. A Replay may also have more or fewer leaves, or the spec of an environment. This
 * function reads the same steps and throws the same errors as `createTrajectoryDataSpec`.
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
  // Reading the first step may also have determined the spec.
  return rlds.stepSpec ?? stepSpecOf(mustBeStep(step));
}

function checkLimit(options: TrajectoryDataSpecOptions): number | undefined {
  const { maxTextBytes } = onlyKeys("options", options, "maxTextBytes");
  return maxTextBytes === undefined ? maxTextBytes : integer("maxTextBytes", maxTextBytes, 1);
}

export interface TrajectoryDataSpecOptions {
  /**
   * The maximum number of UTF-8 bytes per string, if the dataset's `stepSpec` does not set a limit (`text({ maxBytes })`). In that case, it is required if
   * observations or actions contain text.
   */
  readonly maxTextBytes?: number;
}

const DISCOUNT: BoundedLeaf = { ...f32(), minimum: 0, maximum: 1 };

/** Returns the spec of trajectories without policyInfo, given the spec of the steps. */
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

/** Returns up to n steps from the beginning of the dataset. @throws RldsError EMPTY if there are no steps */
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

/** Returns the steps of an episode. @throws RldsError SPEC_MISMATCH if they are not iterable */
export function mustHaveSteps<S>(episode: { readonly steps: Iterable<S> | AsyncIterable<S> }, number: number): Iterable<S> | AsyncIterable<S> {
  const steps = (episode as { readonly steps?: unknown } | null)?.steps as (Iterable<S> & AsyncIterable<S>) | undefined;
  if (typeof steps === "object" && steps !== null && (Symbol.iterator in steps || Symbol.asyncIterator in steps)) return steps;
  throw new RldsError("SPEC_MISMATCH", "an episode must be an object whose steps are an iterable or an async iterable", { episode: number });
}
