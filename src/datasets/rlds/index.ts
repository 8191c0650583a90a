/** Exports reprise/rlds, which reads RLDS datasets and creates trajectories. */
import "../../base/host.ts";

export type { TextLeaf } from "../../schema/leaf.ts";
export * from "../formats/index.ts";
export {
  type DatasetForm,
  type MaybeAsyncIterable as Each,
  type RldsDataset,
  type RldsEpisode,
  type RldsStep,
  rldsDataset,
  type StepSpec,
} from "../model/dataset.ts";
export { type Place, RldsError } from "../model/rlds-error.ts";
export { type ColumnData, type StepColumn, StepColumns } from "../model/step-columns.ts";
export { checkStep, stepSpecOf } from "../model/step-spec.ts";
export type { PassOptions } from "../model/traversal.ts";
export { type CheckOptions, checkRlds } from "./check/check.ts";
export type { CheckFault, CheckFinding, CheckFindings, CheckReport, CheckWarning } from "./check/check-report.ts";
export { castLeaves, type LeafDtypes } from "./edit/cast-leaves.ts";
export { type ConcatOptions, concatEpisodes } from "./edit/concat-episodes.ts";
export { concatFilms, type FilmSource, withFilmNumbers } from "./edit/concat-films.ts";
export type { Comparison, EpisodeCondition } from "./edit/condition.ts";
export type { EpisodeNumbers } from "./edit/episode-numbers.ts";
export { type FilmFrames, type FilmPixelOptions, withFilmPixels } from "./edit/film-pixels.ts";
export { filterWhere } from "./edit/filter-where.ts";
export type { ColumnDataset, ColumnEpisode } from "./edit/map-columns.ts";
export { type ResampleOptions, resampleSteps } from "./edit/resample-steps.ts";
export { type EpisodeSelection, selectEpisodes } from "./edit/select-episodes.ts";
export { type LeafSelection, selectLeaves } from "./edit/select-leaves.ts";
export { type SplitOptions, splitEpisodes } from "./edit/split-episodes.ts";
export { swapChannels } from "./edit/swap-channels.ts";
export { withTask } from "./edit/with-task.ts";
export { type ImportedRlds, type ImportOptions, importRlds, inspectRlds } from "./import/import.ts";
export type { Fault, Finding, ImportMode, ImportReport, Occurrences as Found, Range, Repair, Totals } from "./import/import-report.ts";
export { convertRldsToTrajectories, type WindowOptions } from "./trajectory/convert.ts";
export type { StepFields } from "./trajectory/episode-columns.ts";
export type { PolicyInfoFn } from "./trajectory/policy-info.ts";
export { type PushOptions, pushRldsToReverb, type TrajectoryTaker } from "./trajectory/push.ts";
export { type PushEpisodesOptions, type PushedEpisodes, pushEpisodes } from "./trajectory/push-episodes.ts";
export {
  createTrajectoryDataSpec,
  createTransitionSpec,
  type TrajectoryDataSpec,
  type TrajectoryDataSpecOptions,
  type TransitionSpec,
} from "./trajectory/trajectory-spec.ts";
export type { WindowOf } from "./trajectory/trajectory-windows.ts";
export { type BatchOptions, batch, batchSteps, type StepBatch } from "./transform/batch-steps.ts";
export { concatIfTerminal, type TruncateOptions, truncateAfter } from "./transform/episode-ends.ts";
export { filterEpisodes } from "./transform/filter-episodes.ts";
export {
  type FinalObservationOptions,
  type FinalStepCounts,
  type FinalStepRule,
  type RldsWithFinals,
  withFinalObservations,
} from "./transform/final-observations.ts";
export { type Histogram, histogram } from "./transform/histogram.ts";
export { type MapOptions, mapEpisodes, mapSteps } from "./transform/map-steps.ts";
export { type NStepTransition, type NStepTransitionOptions, nStep } from "./transform/n-step.ts";
export { shiftKeys } from "./transform/shift-keys.ts";
export { type DatasetStatistics, type Distribution, type LeafStatistics, type StatisticsOptions, statistics } from "./transform/statistics.ts";
