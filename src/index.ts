/** The main entry: exports only. */
export type { Batch, BatchInfo, Blocked, Column, NStepColumns, StepsOf } from "./batch.ts";
export type { StagedOf } from "./core/staged.ts";
export type { Dataset, DatasetOptions } from "./dataset.ts";
export { ReplayError, type ReplayErrorCode } from "./error.ts";
export type { NStepOptions } from "./n-step.ts";
export type { Plan } from "./plan.ts";
export { minSize, queueLimiter, type RateLimiter, sampleToInsertRatio } from "./rate-limiter.ts";
export { Replay, type ReplayOptions, type ReplayStats } from "./replay.ts";
export type { SampleOptions } from "./sample.ts";
export { fifo, lifo, maxHeap, minHeap, prioritized, type Selector, uniform } from "./selector.ts";
export type { ColumnOf, ColumnSet } from "./spec/columns.ts";
export type { ArrayOf, Dtype } from "./spec/dtype.ts";
export { bool, f32, f64, i8, i16, i32, i64, type Leaf, shared, u8, u16, u32, u64 } from "./spec/leaf.ts";
export { flatten, pack } from "./spec/nest.ts";
export type { ColumnsOf, Spec, StepOf } from "./spec/spec.ts";
export type { BatchOf, Explanation, Table, TableOptions, TableStats } from "./table.ts";
export type { WaitOptions } from "./wait.ts";
export type { ItemOptions, ItemRule, Writer, WriterOptions } from "./writer.ts";
