/** Exports reprise/pfrl: the replay buffers of PFRL, as views on the Reprise engine. */
import "../base/host.ts";

export { type ObjectLeaf, object } from "../schema/leaf.ts";
export { type BatchExperiencesOptions, batchExperiences, type Experiences, type Stacked } from "./batch-experiences.ts";
export { batchRecurrentExperiences, type RecurrentExperiences, randomSubseq } from "./batch-recurrent-experiences.ts";
export { type EpisodeOptions, EpisodicReplayBuffer, type EpisodicReplayBufferOptions } from "./buffers/episodic-replay-buffer.ts";
export type { PersistentOptions } from "./buffers/persistent-buffer.ts";
export { PersistentEpisodicReplayBuffer } from "./buffers/persistent-episodic-replay-buffer.ts";
export { PersistentReplayBuffer } from "./buffers/persistent-replay-buffer.ts";
export { PrioritizedEpisodicReplayBuffer, type PrioritizedEpisodicReplayBufferOptions } from "./buffers/prioritized-episodic-replay-buffer.ts";
export { PrioritizedReplayBuffer, type PrioritizedReplayBufferOptions } from "./buffers/prioritized-replay-buffer.ts";
export { ReplayBuffer, type ReplayBufferOptions } from "./buffers/replay-buffer.ts";
export type { BufferOptions, ListOptions, SampleOptions } from "./buffers/stored-buffer.ts";
export type { Progress, WorkOptions } from "./files/incremental.ts";
export type { PersistenceOptions } from "./files/log.ts";
export type { SaveTarget } from "./files/single-file.ts";
export type { PartSpec } from "./rows/leaf.ts";
export type { StepSpec } from "./rows/step-spec.ts";
export type { SampleList as Listed, TransitionBatch, WeightedBatch } from "./rows/transition-batch.ts";
export type { NormalizeByMax, WeighingOptions } from "./store/importance-weights.ts";
export type { EngineOptions } from "./store/steps.ts";
export type { AppendedTransition, Transition } from "./transition.ts";
