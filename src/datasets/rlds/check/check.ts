/** Checks a whole dataset before training. */
import { countText, finite, integer, mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsReader } from "../../formats/index.ts";
import type { RldsDataset, RldsStep } from "../../model/dataset.ts";
import { episodesOf } from "../../model/derive.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { Pace, type PassOptions } from "../../model/traversal.ts";
import { ImportReader } from "../import/import-reader.ts";
import { FAULTS, type Fault, type Finding, RunningReport } from "../import/import-report.ts";
import { type CheckReport, RunningCheck } from "./check-report.ts";
import { EpisodeChecker } from "./episode-checker.ts";

export interface CheckOptions extends PassOptions {
  /** The path of the timestamps. Default: `timestamp`, or `observation/timestamp`. */
  readonly timestamp?: string;
  /** The expected number of steps per second, for timestamps in seconds. Default: `about.fps` of the reader, otherwise the median interval of each episode. */
  readonly fps?: number;
  /** The maximum relative deviation of an interval between timestamps from the expected interval. Default: 0.1. */
  readonly maxJitter?: number;
  /** The minimum number of transitions per episode. Shorter episodes are reported. Default: 2. */
  readonly minSteps?: number;
  /** The minimum number of transitions per episode, as a fraction of the median. Shorter episodes are reported. Default: 0.1. */
  readonly minShare?: number;
  /** The maximum number of places that are listed per kind of finding. All findings are counted. Default: 8. */
  readonly maxPlaces?: number;
}

/** The codes of errors that a source throws for damaged or missing data. The check throws all other errors, such as a lost connection. */
const DAMAGE = ["CORRUPT", "NOT_FOUND", "SPEC_MISMATCH", "INVALID_DATA", "EMPTY"];

const TEXTS: { readonly [fault in Fault]: (finding: Finding) => string } = {
  emptyEpisodes: () => "the episode has no steps",
  danglingTails: () => "is_last is false at the last step",
  missingFirsts: () => "is_first is false at the first step",
  firstsInMidEpisode: () => "is_first is true after the first step",
  lastsInMidEpisode: () => "is_last is true before the last step",
  terminalsWithoutLast: () => "is_terminal is true, but is_last is false",
  nonFinite: ({ path, value }) => `${path} is ${value}`,
  wrongForms: ({ path }) => `${path} does not match the spec`,
};

/**
 * Reads a dataset once and reports its faults and warnings.
 *
 * Faults are the faults of `inspectRlds`, timestamps that do not increase, videos that are missing or shorter than the steps, and parts that cannot be read.
 * For a LeRobot reader, the check also reads the videos. For a reader with `salvage`, `losses` are faults.
 *
 * Warnings are findings that may be intended. They are uneven timestamps, elements of observations and actions that never change, a reward that never changes,
 * very short episodes, videos with surplus frames, and final observations of zeros.
 *
 * The check does not throw for faults and warnings, and does not change anything. It keeps one value per leaf, one number per episode, and the timestamps of
 * one episode in memory.
 * @throws TypeError, RangeError if an argument is invalid
 * @throws RldsError UNSUPPORTED if Reprise cannot read the data
 * @throws RldsError IO if a file cannot be read
 * @throws the errors of the source
 * @throws the signal's reason if the signal aborts
 */
export async function checkRlds<S = RldsStep>(rlds: RldsDataset<S>, options: CheckOptions = {}): Promise<CheckReport> {
  const { timestamp, fps, maxJitter, minSteps, minShare, maxPlaces } = parseOptions(options);
  const source = episodesOf(rlds) as AsyncIterable<Parameters<ImportReader["episode"]>[0]>;
  const { films, about, losses } = rlds as Partial<RldsReader>;
  const check = new RunningCheck(maxPlaces);
  const inspected = new RunningReport("inspect", maxPlaces);
  const reading = new ImportReader(rlds.stepSpec, inspected, options.signal);
  const statedFps = typeof about?.fps === "number" && about.fps > 0 ? about.fps : undefined;
  const checker = new EpisodeChecker(rlds.stepSpec, { timestamp, fps: fps ?? statedFps, maxJitter, films }, check);
  const pace = new Pace(options);
  const lengths: number[] = [];
  try {
    for await (const episode of source) {
      const before = inspected.transitions;
      checker.begin(episode, lengths.length);
      const { length } = await reading.episode(episode, checker);
      await checker.end();
      lengths.push(inspected.transitions - before);
      await pace.after(length);
    }
    check.complete = true;
  } catch (error) {
    if (!(error instanceof RldsError) || !DAMAGE.includes(error.code)) throw error;
    const { file, offset, episode, step, message } = error;
    const place = { file, offset, episode, step };
    check.fault("unreadable", { ...Object.fromEntries(Object.entries(place).filter(([, part]) => part !== undefined)), text: message });
  }
  if (check.complete) await checker.finish();
  for (const { code: _, reason, ...place } of losses ?? []) check.fault("unreadable", { ...place, text: reason });
  for (const fault of FAULTS) {
    const { count, places } = inspected.faults[fault];
    places.forEach((finding, i) => {
      // The first finding also counts the findings whose places are not listed.
      check.fault(fault, { ...finding, text: TEXTS[fault](finding) }, i === 0 ? count - places.length + 1 : 1);
    });
  }
  const { count: zeros, places } = inspected.zeroFinalObservations;
  places.forEach((finding, i) => {
    check.warn("zeroFinalObservations", { ...finding, text: "the final observation is all zeros" }, i === 0 ? zeros - places.length + 1 : 1);
  });
  warnOfLengths(lengths, { minSteps, minShare }, check);
  const { episodes, steps, transitions } = inspected;
  return Object.assign(check, { episodes, steps, transitions });
}

/** Warns about very short episodes. @param lengths the number of transitions per episode, without episodes that have no steps, which are faults */
function warnOfLengths(
  lengths: readonly number[],
  { minSteps, minShare }: { readonly minSteps: number; readonly minShare: number },
  check: RunningCheck,
): void {
  const sorted = Float64Array.from(lengths).sort();
  const median = sorted[sorted.length >> 1] ?? 0;
  const least = Math.max(minSteps, minShare * median);
  for (const [episode, length] of lengths.entries()) {
    if (length >= least) continue;
    const count = `the episode has ${countText(length, "transition")}`;
    check.warn("shortEpisodes", {
      episode,
      value: length,
      text: length < minSteps ? `${count}, fewer than ${minSteps}` : `${count}, but the median is ${median}`,
    });
  }
}

/** Returns the options with their defaults. @throws TypeError, RangeError if an option is invalid */
function parseOptions(options: CheckOptions) {
  const {
    timestamp,
    fps,
    maxJitter = 0.1,
    minSteps = 2,
    minShare = 0.1,
    maxPlaces = 8,
  } = onlyKeys("options", options, "timestamp, fps, maxJitter, minSteps, minShare, maxPlaces, signal, onProgress");
  if (timestamp !== undefined && typeof timestamp !== "string") throw mustBe(TypeError, "timestamp", "the path of a leaf", timestamp);
  if (fps !== undefined && !(typeof fps === "number" && fps > 0 && fps < Infinity)) throw mustBe(RangeError, "fps", "a number above 0", fps);
  finite("maxJitter", maxJitter, 0);
  integer("minSteps", minSteps, 0);
  finite("minShare", minShare, 0, 1);
  integer("maxPlaces", maxPlaces, 1);
  return { timestamp, fps, maxJitter, minSteps, minShare, maxPlaces };
}
