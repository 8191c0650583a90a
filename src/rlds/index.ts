/** reprise/rlds: RLDS datasets in, trajectories out. Exports only. */

export * from "../formats/index.ts";
export { convertRldsToTrajectories, type WindowOptions } from "./convert.ts";
export { type DatasetForm, type Each, type RldsDataset, type RldsEpisode, type RldsStep, rldsDataset, type StepSpec, type TextLeaf } from "./dataset.ts";
export { type ImportedRlds, type ImportOptions, importRlds, inspectRlds } from "./import.ts";
export type { Fault, Finding, Found, ImportMode, ImportReport, Range, Repair, Totals } from "./import-report.ts";
export type { PassOptions } from "./pass.ts";
export type { PolicyInfoFn } from "./policy-info.ts";
export { type PushOptions, pushRldsToReverb, type TrajectoryTaker } from "./push.ts";
export { type Place, RldsError } from "./rlds-error.ts";
export { type ColumnData, type StepColumn, StepColumns } from "./step-columns.ts";
export { checkStep, stepSpecOf } from "./step-spec.ts";
export { createTrajectoryDataSpec, type TrajectoryDataSpec } from "./trajectory-spec.ts";
export type { WindowOf } from "./trajectory-windows.ts";
