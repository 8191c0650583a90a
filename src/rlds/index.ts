/** reprise/rlds: RLDS datasets in, trajectories out. Exports only. */

export * from "../formats/index.ts";
export { type BatchOptions, batch, batchSteps, type StepBatch } from "./batch-steps.ts";
export { convertRldsToTrajectories, type WindowOptions } from "./convert.ts";
export { type DatasetForm, type Each, type RldsDataset, type RldsEpisode, type RldsStep, rldsDataset, type StepSpec, type TextLeaf } from "./dataset.ts";
export { concatIfTerminal, type TruncateOptions, truncateAfter } from "./episode-ends.ts";
export { filterEpisodes } from "./filter-episodes.ts";
export { type Histogram, histogram } from "./histogram.ts";
export { type ImportedRlds, type ImportOptions, importRlds, inspectRlds } from "./import.ts";
export type { Fault, Finding, Found, ImportMode, ImportReport, Range, Repair, Totals } from "./import-report.ts";
export { type MapOptions, mapEpisodes, mapSteps } from "./map-steps.ts";
export { type NStepTransition, type NStepTransitionOptions, nStep } from "./n-step.ts";
export type { PassOptions } from "./pass.ts";
export type { PolicyInfoFn } from "./policy-info.ts";
export { type PushOptions, pushRldsToReverb, type TrajectoryTaker } from "./push.ts";
export { type Place, RldsError } from "./rlds-error.ts";
export { shiftKeys } from "./shift-keys.ts";
export { type DatasetStatistics, type Distribution, type LeafStatistics, type StatisticsOptions, statistics } from "./statistics.ts";
export { type ColumnData, type StepColumn, StepColumns } from "./step-columns.ts";
export { checkStep, stepSpecOf } from "./step-spec.ts";
export { createTrajectoryDataSpec, type TrajectoryDataSpec } from "./trajectory-spec.ts";
export type { WindowOf } from "./trajectory-windows.ts";
