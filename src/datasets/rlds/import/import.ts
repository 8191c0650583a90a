/** Datasets on their way in: judged, and mended or refused. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf, keepSpec } from "../../model/derive.ts";
import { numberLike } from "../../model/episode-number.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { Pace, type PassOptions } from "../../model/traversal.ts";
import { ImportReader, violationError } from "./import-reader.ts";
import { type ImportMode, type ImportReport, RunningReport } from "./import-report.ts";
import { WholeEpisode } from "./whole-episode.ts";

export interface ImportOptions extends PassOptions {
  /** `strict` where it is left out. */
  readonly mode?: ImportMode;
}

/** A dataset whose episodes have been judged. Each pass reads the source anew. */
export type ImportedRlds<S = RldsStep> = RldsDataset<S> &
  AsyncIterable<RldsEpisode<S>> & {
    /** Of the latest pass; it fills while that goes on, and is empty before the first. */
    readonly report: ImportReport;
  };

const MODES: { readonly [mode in ImportMode]: ImportMode } = { strict: "strict", repair: "repair", drop: "drop" };

/**
 * What is in a dataset, and what is wrong with it. Nothing is raised for faults, and nothing changed; `kept` is empty. Steps are read one by one: memory does not grow
 * with the dataset or with episodes. O(elements that are floats), O(leaves) a step.
 * @throws TypeError for what is no dataset · what the source raises · what the signal says
 */
export async function inspectRlds<S = RldsStep>(rlds: RldsDataset<S>, options: PassOptions = {}): Promise<ImportReport> {
  onlyKeys("options", options, "signal, onProgress");
  const source = episodesOf(rlds) as AsyncIterable<RldsEpisode<S>>;
  const report = new RunningReport("inspect");
  const reader = new ImportReader(rlds.stepSpec, report, options.signal);
  const pace = new Pace(options);
  for await (const episode of source) {
    const { length } = await reader.episode(episode);
    await pace.after(length);
  }
  report.complete = true;
  return report;
}

/**
 * A dataset of judged episodes: an episode is read whole before any of its steps is given on, so that none of a refused episode is. `strict` raises the first fault;
 * `drop` leaves out each episode that has one; `repair` gives on what is right of it, as `mend` says:
 * - an is_first in mid-episode, or what follows an is_last or is_terminal, begins an episode of its own, with the same metadata; is_first and is_last are set where they are missing;
 * - a tail that dangles ends with is_last: truncated, for is_terminal stays as it is. Its last step is a transition, and keeps its action and reward;
 * - what is not finite, or has another form, ends the episode before it, and what follows is left out up to the next is_first, or to what follows the next is_last. Where only
 *   the action, reward or discount is not finite, that step becomes the last one, with zeros in their place;
 * - empty episodes are left out.
 * All episodes state by `final_step` what their last step is then.
 * Final observations of zeros are reported, and stay. What is right is given on as it is; the source's steps and arrays are never changed. Memory: an episode.
 * @throws TypeError, RangeError for an argument. Passes throw RldsError INVALID_DATA and SPEC_MISMATCH in mode `strict`, and what `inspectRlds` throws
 */
export function importRlds<S = RldsStep>(rlds: RldsDataset<S>, options: ImportOptions = {}): ImportedRlds<S> {
  const { mode = "strict", ...passOptions } = onlyKeys("options", options, "mode, signal, onProgress");
  if (!Object.hasOwn(MODES, mode)) throw mustBe(RangeError, "mode", `one of ${Object.keys(MODES).join(", ")}`, mode, Object.keys(MODES));
  const episodes = episodesOf(rlds) as AsyncIterable<RldsEpisode<S>>;
  let report = new RunningReport(mode);
  const imported = {
    get report() {
      return report;
    },
    async *[Symbol.asyncIterator]() {
      const runningReport = new RunningReport(mode);
      report = runningReport;
      const reading = new ImportReader(rlds.stepSpec, runningReport, passOptions.signal);
      const pace = new Pace(passOptions);
      for await (const episode of episodes) {
        const wholeEpisode = new WholeEpisode<S>(episode);
        const { index, length, violation } = await reading.episode(episode, wholeEpisode);
        if (violation === undefined) yield numberLike(wholeEpisode.keepEpisode(runningReport, mode === "repair"), episode);
        else if (mode === "strict") throw violationError(violation, index);
        else if (mode === "drop") wholeEpisode.drop(runningReport, index);
        else for (const piece of wholeEpisode.repair(runningReport, index)) yield numberLike(piece, episode);
        await pace.after(length);
      }
      runningReport.complete = true;
    },
  };
  // What was mended may end otherwise than the source's episodes do.
  return attachSchema<S>(imported, mode === "repair" ? deriveSchema(rlds, keepSpec, finalStepSpec) : deriveSchema(rlds)) as ImportedRlds<S>;
}
