/** reprise/pfrl: PFRL's replay buffers, as views on the one engine. Exports only. */
export { type BatchExperiencesOptions, batchExperiences, type Experiences, type Stacked } from "./batch-experiences.ts";
export type { EpisodeOptions } from "./episode-samples.ts";
export { EpisodicReplayBuffer, type EpisodicReplayBufferOptions } from "./episodic-replay-buffer.ts";
export { type ObjectLeaf, object, type PartSpec } from "./leaf.ts";
export type { Listed } from "./listed.ts";
export { PrioritizedEpisodicReplayBuffer, type PrioritizedEpisodicReplayBufferOptions } from "./prioritized-episodic-replay-buffer.ts";
export { PrioritizedReplayBuffer, type PrioritizedReplayBufferOptions } from "./prioritized-replay-buffer.ts";
export { type BufferOptions, type ListOptions, ReplayBuffer, type ReplayBufferOptions, type SampleOptions } from "./replay-buffer.ts";
export type { SaveTarget } from "./single-file.ts";
export type { StepSpec } from "./step-spec.ts";
export type { EngineOptions } from "./steps.ts";
export type { AppendedTransition, Transition } from "./transition.ts";
export type { TransitionBatch, WeightedBatch } from "./transition-batch.ts";
export type { NormalizeByMax, WeighingOptions } from "./weighing.ts";
export type { Progress, WorkOptions } from "./work.ts";
