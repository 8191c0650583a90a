/** Imports datasets. Every episode is checked, and faulty episodes are repaired or rejected. */
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
  /** The treatment of faults. Default: `strict`. */
  readonly mode?: ImportMode;
}

/** A dataset whose episodes were checked. Each iteration reads the source again. */
export type ImportedRlds<S = RldsStep> = RldsDataset<S> &
  AsyncIterable<RldsEpisode<S>> & {
    /** The report of the latest iteration. The report grows during the iteration, and is empty before the first iteration. */
    readonly report: ImportReport;
  };

const MODES: { readonly [mode in ImportMode]: ImportMode } = { strict: "strict", repair: "repair", drop: "drop" };

/**
 * Reports the content and the faults of a dataset. Faults do not cause an error, and nothing is changed. `kept` is empty. Steps are read one by one, so the
 * memory in use does not depend on the size of the dataset or its episodes. Each step costs O(leaves + float elements).
 * @throws TypeError if the value is not a dataset
 * @throws the errors of the source
 * @throws the signal's reason if the signal aborts
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
 * Returns a dataset of checked episodes. Each episode is read completely before its first step is passed on, so a rejected episode has no effect. The mode
 * `strict` throws on the first fault, and `drop` leaves out each faulty episode. The mode `repair` keeps the valid parts:
 * - A step with `is_first` in the middle of an episode starts a new episode with the same metadata, as does the step after a step with `is_last` or
 * `is_terminal`. Missing is_first and is_last flags are set.
 * - If no step of an episode has `is_last` set, the last step gets this flag. The episode counts as truncated, because is_terminal is not changed. The last
 *   step is a transition and keeps its action and reward.
 * - If a step has values that are not finite or does not match the spec, the episode ends before that step. The following steps are left out up to the next
 * step with `is_first`, or up to the step after the next step with `is_last`. If only the action, reward or discount is not finite, that step becomes the
 * last step, with zeros in place of these values.
 * - Empty episodes are left out.
 *
 * After a repair, every episode states the kind of its last step in `final_step`. Final observations that are all zeros are reported and kept. Valid episodes
 * are passed on unchanged. The steps and arrays of the source are never modified. Keeps one episode in memory.
 * @throws TypeError, RangeError if an argument is invalid
 * @throws RldsError INVALID_DATA during iteration in the mode `strict` if steps are in an impossible order
 * @throws RldsError SPEC_MISMATCH during iteration in the mode `strict` if a step has a different form
 * @throws the errors of `inspectRlds` during iteration
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
  // Repaired episodes may end differently from the source episodes.
  return attachSchema<S>(imported, mode === "repair" ? deriveSchema(rlds, keepSpec, finalStepSpec) : deriveSchema(rlds)) as ImportedRlds<S>;
}
