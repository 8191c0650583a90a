/** reprise/pfrl: PFRL's replay buffers, as views on the one engine. Exports only. */
export { object, type ObjectLeaf, type PartSpec } from "./leaf.ts";
export type { Listed } from "./listed.ts";
export { type BufferOptions, type ListOptions, ReplayBuffer, type ReplayBufferOptions, type SampleOptions } from "./replay-buffer.ts";
export type { StepSpec } from "./step-spec.ts";
export type { EngineOptions } from "./steps.ts";
export type { AppendedTransition, Transition } from "./transition.ts";
export type { TransitionBatch, WeightedBatch } from "./transition-batch.ts";
