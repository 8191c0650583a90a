/** The main entry: exports only. */
import "./host.ts";

export type { AnySteps, Batch, BatchInfo, Blocked, Column, NStepColumns, StepsOf } from "./batch.ts";
export type { StagedOf } from "./core/staged.ts";
export type { Dataset, DatasetOptions } from "./dataset.ts";
export { ReplayError, type ReplayErrorCode } from "./error.ts";
export type { NStepOptions } from "./n-step.ts";
export type { Plan } from "./plan.ts";
export { minSize, queueLimiter, type RateLimiter, sampleToInsertRatio } from "./rate-limiter.ts";
export type { AcceptedWriter, AcceptOptions, Farewell } from "./remote/accept.ts";
export { type OpenOptions, type OpenReplay, Replay, type ReplayOptions, type ReplayStats } from "./replay.ts";
export type { ItemRule, LengthRule, NStepRule, WriterOptions } from "./rules.ts";
export type { SampleOptions } from "./sample.ts";
export * from "./selector.ts";
export type { ColumnOf, ColumnSet } from "./spec/columns.ts";
export * from "./spec/constructors.ts";
export type { ArrayOf, Dtype } from "./spec/dtype.ts";
export type { BoundedText, Leaf } from "./spec/leaf.ts";
export { flatten, pack } from "./spec/nest.ts";
export type { ColumnsOf, Spec, StepOf } from "./spec/spec.ts";
export type { TransitionRoles } from "./spec/transition-roles.ts";
export type { RestoreOptions, SnapshotSource } from "./store/snapshot/read.ts";
export type { BatchOf, Explanation, Table, TableOptions, TableStats } from "./table.ts";
export type { SampleTransitions, TransitionBatch, TransitionDatasetOptions, TransitionOptions } from "./transitions/batch.ts";
export type { Transitions } from "./transitions/view.ts";
export type { WaitOptions } from "./wait.ts";
export type { Logger, WarningKind } from "./warnings.ts";
export type { BlockOptions, EndOptions, ItemOptions, LaneEnds, Writer } from "./writer.ts";
