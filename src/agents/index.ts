/** reprise/agents: TF-Agents' observers and replay buffers, as views on the one engine. Exports only. */

export type { ItemsOf } from "./batch-form.ts";
export type { Client, ClientLike, LeafSignature, Signature, StepWriter, StepWriterOptions, TableClient } from "./client.ts";
export { type DriveLimit, type DriveState, drive, type Environment, type Observer, type Outcome, type Policy } from "./drive.ts";
export type { EpisodeFn } from "./episode-flags.ts";
export { type EpisodeObserverOptions, ReverbAddEpisodeObserver } from "./episode-observer.ts";
export { type Episodes, type EpisodicOptions, EpisodicReplayBuffer, type ExtractedEpisodes } from "./episodic-replay-buffer.ts";
export type { PartOf } from "./fields.ts";
export type { HistoryColumn, HistoryOf } from "./history.ts";
export { LegacyWriter, type LegacyWriterOptions } from "./legacy-writer.ts";
export { LocalClient, type LocalClientOptions, type NamedTable } from "./local-client.ts";
export {
  type ApartElement,
  type ApartInfo,
  type AsDatasetOptions,
  type BufferInfo,
  type ClearOptions,
  type Element,
  type GetNextOptions,
  list,
  type ReplayBuffer,
  type StoreOptions,
} from "./replay-buffer.ts";
export { type ReverbBufferOptions, type ReverbInfo, ReverbReplayBuffer } from "./reverb-replay-buffer.ts";
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
export { TrajectoryColumn } from "./trajectory-column.ts";
export { ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver, type TrajectoryObserverOptions } from "./trajectory-observer.ts";
export { type ItemColumns, TrajectoryWriter, type TrajectoryWriterOptions } from "./trajectory-writer.ts";
export { TFUniformReplayBuffer, type UniformOptions } from "./uniform-replay-buffer.ts";
