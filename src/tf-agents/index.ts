/** Exports reprise/agents: the observers and replay buffers of TF-Agents, built on the Reprise engine. */
import "../base/host.ts";

export type { EncodeJpeg } from "../datasets/formats/tfrecord/example-writer.ts";
export type { FileSource } from "../datasets/formats/tfrecord/files.ts";
export type { FileSink } from "../datasets/formats/tfrecord/record-file.ts";
export type { StepWriter } from "../tables/step-sink.ts";
export type { EpisodeFn } from "./buffers/episode-flags.ts";
export { type Episodes, type EpisodicOptions, EpisodicReplayBuffer, type ExtractedEpisodes } from "./buffers/episodic-replay-buffer.ts";
export type { ItemsOf } from "./buffers/frames.ts";
export { PyHashedReplayBuffer } from "./buffers/py-hashed-replay-buffer.ts";
export type { PyBufferOptions } from "./buffers/py-items.ts";
export { PyUniformReplayBuffer } from "./buffers/py-uniform-replay-buffer.ts";
export {
  type AsDatasetOptions,
  type BufferInfo,
  type ClearOptions,
  type DatasetElement,
  type Element,
  type GetNextOptions,
  list,
  type ReplayBuffer,
  type SeparateElement as ApartElement,
  type SeparateInfo as ApartInfo,
  type StoreOptions,
  type UniformDatasetOptions,
} from "./buffers/replay-buffer.ts";
export {
  type BufferClient,
  type KeyDtype,
  type Reported as Told,
  type ReverbBufferOptions,
  type ReverbInfo,
  ReverbReplayBuffer,
} from "./buffers/reverb-replay-buffer.ts";
export { StatefulEpisodicReplayBuffer } from "./buffers/stateful-episodic-replay-buffer.ts";
export { TFUniformReplayBuffer, type UniformOptions } from "./buffers/uniform-replay-buffer.ts";
export { TimestepDataset, TrajectoryDataset } from "./datasets/item-datasets.ts";
export {
  type InfoAndData,
  type NoInfo,
  PatternDataset,
  type PatternDatasetOptions,
  patternDatasetWithInfo,
  type StepSource,
  type TrajectoryOf,
  type WithInfo,
} from "./datasets/pattern-dataset.ts";
export { type ElementSpec, type SampleBatch, type SampleBatches, SampleDataset } from "./datasets/sample-dataset.ts";
export type { DatasetClient, SignatureOptions, TableDatasetOptions } from "./datasets/table-dataset.ts";
export { type DriveLimit, drive } from "./drivers/drive.ts";
export {
  DynamicEpisodeDriver,
  type DynamicEpisodeDriverOptions,
  type DynamicRunOptions,
  DynamicStepDriver,
  type DynamicStepDriverOptions,
} from "./drivers/dynamic-drivers.ts";
export type { Environment, InfoObserver, Observer, Outcome, Policy, TransitionObserver } from "./drivers/environment.ts";
export type { DriveState } from "./drivers/loop.ts";
export { PyDriver, type PyDriverOptions, type RunOptions } from "./drivers/py-driver.ts";
export {
  type BatchedObserverOptions,
  BatchedObserverUnbatching,
  type BatchedTrajectory,
  type DelegatedObserver,
} from "./observers/batched-observer-unbatching.ts";
export { type EpisodeObserverOptions, ReverbAddEpisodeObserver } from "./observers/episode-observer.ts";
export type { ObserverFailure, ObserversError } from "./observers/failures.ts";
export { ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver, type TrajectoryObserverOptions } from "./observers/trajectory-observer.ts";
export { type Comparable, type ComparableStep, type Comparison, Condition, type Subject } from "./patterns/condition.ts";
export { type Config, type ConfigOptions, createConfig, unpackPattern } from "./patterns/config.ts";
export { createReferenceStep, type Pattern, type PatternNode, patternFromTransform, type ReferenceField, type ReferenceStep } from "./patterns/pattern.ts";
export { constantPriorityFn, type PriorityFn, tdError } from "./patterns/priority.ts";
export type { DrawnColumn, DrawnItem, ItemKey, ReplaySample, SampleInfo } from "./sampling/sample.ts";
export type { Sampler, SamplerOptions } from "./sampling/sampler-options.ts";
export { type NamedTable, Table, type TableArguments } from "./sampling/table.ts";
export type { RateLimiterInfo, TableInfo, TableSelector } from "./sampling/table-info.ts";
export type { LeafSignature, Signature } from "./signature.ts";
export { loadTfrecordDataset, type TfrecordDataset, type TfrecordDatasetOptions, type TrajectoriesSpec } from "./tfrecord/tfrecord-dataset.ts";
export { TFRecordObserver, type TFRecordObserverOptions } from "./tfrecord/tfrecord-observer.ts";
export { type Batched, restart, type StepOptions, StepType, type TimeStep, termination, transition, truncation } from "./time-step.ts";
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
  replace,
  singleStep,
  type Trajectory,
  type TrajectorySpec,
  trajectorySpec,
} from "./trajectory.ts";
export type { ColumnsIn, Numbers, WithoutTime } from "./transitions/columns.ts";
export {
  type AsNStepTransitionOptions,
  type AsTrajectoryOptions,
  type AsTransitionOptions,
  asHalfTransition,
  asNStepTransition,
  asTrajectory,
  asTransition,
  type Experience,
} from "./transitions/convert.ts";
export { type Episode, fromEpisode } from "./transitions/episode.ts";
export { type DiscountedReturnOptions, discountedReturn, toNStepTransition } from "./transitions/n-step.ts";
export {
  experienceToTransitions,
  type StepColumns,
  type TrajectoryBatch,
  type TrajectoryColumns,
  type Transition,
  type TransitionSpec,
  toTransition,
  toTransitionSpec,
} from "./transitions/transition.ts";
export type { Variable } from "./variables/values.ts";
export {
  POLICY_KEY,
  ReverbVariableContainer,
  TRAIN_STEP_KEY,
  type VariableClient,
  type VariableContainerOptions,
  type VariableOptions,
} from "./variables/variable-container.ts";
export type {
  AnyLegacyWriter,
  AnyStructuredWriter,
  Checkpoint,
  Client,
  ClientLike,
  PriorityChanges,
  Public,
  SampleCallOptions,
  SampleClient,
  SampleOf,
  ServerInfoOptions,
  TableClient,
} from "./writers/client.ts";
export type { KeepOptions, PartOf } from "./writers/fields.ts";
export type { HistoryColumn, HistoryOf } from "./writers/history.ts";
export { inferSignature } from "./writers/infer-signature.ts";
export type { ItemColumns } from "./writers/item-columns.ts";
export type { EndEpisodeOptions } from "./writers/item-writer.ts";
export type { LegacyWriterOptions } from "./writers/legacy-options.ts";
export { LegacyWriter } from "./writers/legacy-writer.ts";
export { type ClientOf, LocalClient, type LocalClientOptions } from "./writers/local-client.ts";
export type { StepClient, StepWriterOptions } from "./writers/step-client.ts";
export { StructuredWriter } from "./writers/structured-writer.ts";
export { TrajectoryColumn } from "./writers/trajectory-column.ts";
export { TrajectoryWriter, type TrajectoryWriterOptions } from "./writers/trajectory-writer.ts";
