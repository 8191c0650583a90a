/** reprise/agents: TF-Agents' observers and replay buffers, as views on the one engine. Exports only. */
export type { ItemsOf } from "./batch-form.ts";
export type { EpisodeFn } from "./episode-flags.ts";
export { type Episodes, type EpisodicOptions, EpisodicReplayBuffer } from "./episodic-replay-buffer.ts";
export {
  type ApartElement,
  type AsDatasetOptions,
  type BufferInfo,
  type ClearOptions,
  type Element,
  type GetNextOptions,
  list,
  type ReplayBuffer,
  type StoreOptions,
} from "./replay-buffer.ts";
export { StatefulEpisodicReplayBuffer } from "./stateful-episodic-replay-buffer.ts";
export { type Batched, restart, StepType, type TimeStep, termination, transition, truncation } from "./time-step.ts";
export {
  boundary,
  first,
  fromTransition,
  isBoundary,
  isFirst,
  isLast,
  isMid,
  last,
  mid,
  type PolicyStep,
  singleStep,
  type Trajectory,
  type TrajectorySpec,
  trajectorySpec,
} from "./trajectory.ts";
export { TFUniformReplayBuffer, type UniformOptions } from "./uniform-replay-buffer.ts";
