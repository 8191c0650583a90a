/** Implements `open` of reprise/record, which starts a new recording or continues an existing recording. */
import { mustBe, ReplayError } from "../base/error.ts";
import { loggerOf } from "../base/warnings.ts";
import { leavesOf } from "../datasets/model/leaves.ts";
import { parseAbout, type RecordingAbout, VERSION } from "../datasets/model/recording/about.ts";
import { RowLayout, toRecordingSpec } from "../datasets/model/recording/row-layout.ts";
import { ready } from "../files/builtins.ts";
import type { Directory } from "../files/directory.ts";
import { node } from "../files/node.ts";
import type { Spec } from "../schema/spec.ts";
import { Log } from "../storage/log/log.ts";
import { type PeekOptions, peekLog } from "../storage/log/peek.ts";
import { Frames } from "./frames.ts";
import { checkedOptions, type RecordOptions } from "./options.ts";
import { Recorder } from "./recorder.ts";
import { ResumeReader } from "./resume.ts";
import { StagedStep } from "./staged.ts";

/**
 * Opens a recording, and creates it if necessary. An episode that a crash or `close` cut off remains unfinished, and the next step starts a new episode. A new
 * recording requires `spec` and `fps`. For an existing recording, you can omit both options. If you pass settings, their values must match the recording. Reads
 * only the newest log files. The cost is O(segmentBytes), regardless of the size of the recording. With `imagesIn: "files"`, the call also lists the directory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws ReplayError SPEC_MISMATCH if the directory has other contents, or a recording with different settings
 * @throws ReplayError NOT_FOUND if there is no recording and `spec` or `fps` is omitted
 * @throws ReplayError LOCKED if another process records in the directory
 * @throws ReplayError CORRUPT if a file is damaged elsewhere than at its end (see `salvage`)
 * @throws ReplayError UNSUPPORTED if another version wrote the files, or the directory cannot store one file per frame (`imagesIn: "files"`)
 * @throws ReplayError IO if a file cannot be read or written
 */
export async function open<const S extends Spec = Spec>(options: RecordOptions<S>): Promise<Recorder<S>> {
  const { dir, durability, segmentBytes, salvage, takeOver, logger, module, ...settings } = checkedOptions(options);
  const spec = settings.spec && toRecordingSpec(settings.spec);
  if (spec !== undefined) new RowLayout(spec);
  await ready;
  const directory = typeof dir === "string" ? node(dir) : dir;
  const existing = spec === undefined || settings.fps === undefined ? aboutOf(directory, { salvage, takeOver, module }) : undefined;
  const newAbout: RecordingAbout = {
    content: "recording",
    version: VERSION,
    spec: spec ?? (existing?.spec as Spec),
    fps: settings.fps ?? (existing?.fps as number),
    images: settings.images ?? existing?.images ?? "raw",
    imagesIn: settings.imagesIn ?? existing?.imagesIn ?? "rows",
    about: settings.about ?? existing?.about ?? {},
  };
  checkPlace(directory, newAbout);
  const log = Log.open(directory, { about: newAbout, durability: "manual", segmentBytes, salvage, takeOver, logger, ...(module && { module }) });
  try {
    const about = parseAbout(directory.name, log.about);
    checkSame(directory.name, { ...settings, spec }, about);
    const reader = new ResumeReader();
    const progress = log.replay((kind, id, payload, segment) => reader.visit(kind, id, payload, segment), true);
    while (progress.next().done !== true);
    const resumeState = reader.finish(log.segment);
    const rowLayout = new RowLayout(about.spec);
    const isPng = about.images === "png" && rowLayout.frames.length > 0;
    const encode = isPng ? await (await import("../datasets/formats/images/frame-png.ts")).frameEncoder() : undefined;
    const frames = new Frames(directory, rowLayout, about, encode);
    frames.removeOrphans(resumeState.nextEpisode, resumeState.cutLength > 0 ? resumeState.cutLength : Number.POSITIVE_INFINITY);
    const staged = new StagedStep(about.spec, rowLayout);
    const recorder = new Recorder<S>({ name: directory.name, about, log, staged, frames, resumeState, durability, logger: loggerOf(logger) });
    // The damaged data is cut off now, so later openings need no salvage.
    if (log.salvaged) log.flush();
    return recorder;
  } catch (error) {
    log.leave();
    throw error;
  }
}

/** Returns the settings of an existing recording. @throws ReplayError NOT_FOUND */
function aboutOf(directory: Directory, options: PeekOptions): RecordingAbout {
  const log = peekLog(directory, options);
  if (log === undefined) throw new ReplayError("NOT_FOUND", `there is no recording in ${directory.name}. Pass spec and fps to start one`);
  return parseAbout(directory.name, log.about);
}

/** @throws ReplayError UNSUPPORTED if frames are stored in separate files, but the directory is limited to a small number of files */
function checkPlace({ name, fewFiles }: Directory, { imagesIn }: RecordingAbout): void {
  if (imagesIn === "files" && fewFiles === true)
    throw new ReplayError("UNSUPPORTED", `${name} cannot store one file per frame (imagesIn: "files"). Use imagesIn: "rows"`);
}

/** The remedy in the error for a setting that differs from the existing setting. */
const REMEDY = "Omit it, or use another directory";

/** @throws ReplayError SPEC_MISMATCH if a setting differs. The error names the setting */
function checkSame(name: string, settings: Partial<RecordingAbout>, existing: RecordingAbout): void {
  for (const key of ["fps", "images", "imagesIn"] as const) {
    if (settings[key] !== undefined && settings[key] !== existing[key]) throw differs(key, JSON.stringify(existing[key]), name, settings[key]);
  }
  // The metadata is stored as JSON, which may omit or convert values.
  if (settings.about !== undefined) checkSameJson(name, JSON.parse(JSON.stringify(settings.about)), existing.about, "about");
  if (settings.spec === undefined) return;
  const [requestedLeaves, existingLeaves] = [settings.spec, existing.spec].map(leavesIn) as [Map<string, string>, Map<string, string>];
  for (const path of new Set([...existingLeaves.keys(), ...requestedLeaves.keys()])) {
    const [a, b] = [requestedLeaves.get(path), existingLeaves.get(path)];
    if (a !== b) throw new ReplayError("SPEC_MISMATCH", `spec must have ${b ?? "no leaf"} at ${path}, as in ${name}, got ${a ?? "none"}. ${REMEDY}`);
  }
}

/** Returns the error for a setting that differs from the existing setting. */
function differs(path: string, existing: string, name: string, requested: unknown): Error {
  return mustBe("SPEC_MISMATCH", path, [`${existing}, as in ${name}`, REMEDY], requested);
}

/** Compares values. The order of keys does not matter. @throws ReplayError SPEC_MISMATCH if a value differs. The error names the first such value */
function checkSameJson(name: string, requested: unknown, existing: unknown, path: string): void {
  const isNest = [requested, existing].every((value) => typeof value === "object" && value !== null) && Array.isArray(requested) === Array.isArray(existing);
  if (isNest) {
    const [a, b] = [requested, existing] as [{ readonly [key: string]: unknown }, { readonly [key: string]: unknown }];
    const getOwn = (of: object, key: string) => (Object.hasOwn(of, key) ? (of as typeof a)[key] : undefined);
    for (const key of new Set([...Object.keys(b), ...Object.keys(a)])) checkSameJson(name, getOwn(a, key), getOwn(b, key), `${path}.${key}`);
  } else if (requested !== existing) {
    throw differs(path, existing === undefined ? "omitted" : JSON.stringify(existing), name, requested);
  }
}

function leavesIn(spec: unknown): Map<string, string> {
  return new Map(
    leavesOf(spec as Spec).map(({ keys, leaf }) => [keys.join("."), JSON.stringify([leaf.dtype, leaf.shape, (leaf as { maxBytes?: number }).maxBytes])]),
  );
}
