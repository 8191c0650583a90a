/** reprise/pfrl: PFRL's replay buffers, as views on the one engine. Exports only. */

export { type ObjectLeaf, object } from "../spec/leaf.ts";
export { type BatchExperiencesOptions, batchExperiences, type Experiences, type Stacked } from "./batch-experiences.ts";
export type { EpisodeOptions } from "./buffers/episode-samples.ts";
export { EpisodicReplayBuffer, type EpisodicReplayBufferOptions } from "./buffers/episodic-replay-buffer.ts";
export type { PersistentOptions } from "./buffers/persistence.ts";
export { PersistentEpisodicReplayBuffer } from "./buffers/persistent-episodic-replay-buffer.ts";
export { PersistentReplayBuffer } from "./buffers/persistent-replay-buffer.ts";
export { PrioritizedEpisodicReplayBuffer, type PrioritizedEpisodicReplayBufferOptions } from "./buffers/prioritized-episodic-replay-buffer.ts";
export { PrioritizedReplayBuffer, type PrioritizedReplayBufferOptions } from "./buffers/prioritized-replay-buffer.ts";
export { type BufferOptions, type ListOptions, ReplayBuffer, type ReplayBufferOptions, type SampleOptions } from "./buffers/replay-buffer.ts";
export type { PersistenceOptions } from "./files/log.ts";
export type { SaveTarget } from "./files/single-file.ts";
export type { Progress, WorkOptions } from "./files/work.ts";
export type { PartSpec } from "./rows/leaf.ts";
export type { Listed } from "./rows/listed.ts";
export type { StepSpec } from "./rows/step-spec.ts";
export type { TransitionBatch, WeightedBatch } from "./rows/transition-batch.ts";
export type { EngineOptions } from "./store/steps.ts";
export type { NormalizeByMax, WeighingOptions } from "./store/weighing.ts";
export type { AppendedTransition, Transition } from "./transition.ts";
