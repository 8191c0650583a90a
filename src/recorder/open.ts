/** `open` of reprise/record: a recorder over a directory, new, or going on behind what is there. */
import { mustBe, ReplayError } from "../base/error.ts";
import { loggerOf } from "../base/warnings.ts";
import { leavesOf } from "../datasets/model/leaves.ts";
import { checkedAbout, type RecordingAbout, VERSION } from "../datasets/model/recording/about.ts";
import { RowForm, recordedSpec } from "../datasets/model/recording/row-form.ts";
import { ready } from "../files/builtins.ts";
import type { Directory } from "../files/directory.ts";
import { node } from "../files/node.ts";
import type { Spec } from "../schema/spec.ts";
import { Log } from "../storage/log/log.ts";
import { type Looking, looking } from "../storage/log/looking.ts";
import { Frames } from "./frames.ts";
import { checkedOptions, type RecordOptions } from "./options.ts";
import { PastReader } from "./past.ts";
import { Recorder } from "./recorder.ts";
import { StagedStep } from "./staged.ts";

/**
 * Opens a recording, made if need be. An episode that a crash, or `close`, has cut stays as it is, unfinished; the next step begins another one. A new recording needs
 * `spec` and `fps`; of one that is there they may be left out, and must be the same otherwise. Reads the two newest files: O(segmentBytes), however much is recorded.
 * @throws TypeError, RangeError for options · ReplayError SPEC_MISMATCH where something else is there, or a recording of other steps · NOT_FOUND where nothing is there and
 * `spec` or `fps` is left out · LOCKED where another process records there · CORRUPT, UNSUPPORTED, IO as `Replay.open`
 */
export async function open<const S extends Spec = Spec>(options: RecordOptions<S>): Promise<Recorder<S>> {
  const { dir, durability, segmentBytes, salvage, takeOver, logger, module, ...given } = checkedOptions(options);
  const spec = given.spec && recordedSpec(given.spec);
  if (spec !== undefined) new RowForm(spec);
  await ready;
  const directory = typeof dir === "string" ? node(dir) : dir;
  const there = spec === undefined || given.fps === undefined ? aboutOf(directory, { salvage, takeOver, module }) : undefined;
  const made: RecordingAbout = {
    content: "recording",
    version: VERSION,
    spec: spec ?? (there?.spec as Spec),
    fps: given.fps ?? (there?.fps as number),
    images: given.images ?? there?.images ?? "raw",
    imagesIn: given.imagesIn ?? there?.imagesIn ?? "rows",
    about: given.about ?? there?.about ?? {},
  };
  checkPlace(directory, made);
  const log = Log.open(directory, { about: made, durability: "manual", segmentBytes, salvage, takeOver, logger, ...(module && { module }) });
  try {
    const about = checkedAbout(directory.name, log.about);
    same(directory.name, { ...given, spec }, about);
    const reader = new PastReader();
    const progress = log.replay((kind, id, payload, segment) => reader.visit(kind, id, payload, segment), true);
    while (progress.next().done !== true);
    const past = reader.finish(log.segment);
    const form = new RowForm(about.spec);
    const isPng = about.images === "png" && form.frames.length > 0;
    const encode = isPng ? await (await import("../datasets/formats/images/frame-png.ts")).frameEncoder() : undefined;
    const frames = new Frames(directory, form, about, encode);
    frames.tidy(past.next, past.cut > 0 ? past.cut : Number.POSITIVE_INFINITY);
    const staged = new StagedStep(about.spec, form);
    const recorder = new Recorder<S>({ name: directory.name, about, log, staged, frames, past, durability, logger: loggerOf(logger) });
    // What was given up goes now: later openings need no salvage.
    if (log.salvaged) log.flush();
    return recorder;
  } catch (error) {
    log.leave();
    throw error;
  }
}

/** What is there says of itself. @throws ReplayError NOT_FOUND */
function aboutOf(directory: Directory, options: Looking): RecordingAbout {
  const log = looking(directory, options);
  if (log === undefined) throw new ReplayError("NOT_FOUND", `there is no recording in ${directory.name}: pass spec and fps to begin one`);
  return checkedAbout(directory.name, log.about);
}

/** A pool of files, each open all the time, is no place for a file a frame. @throws ReplayError UNSUPPORTED */
function checkPlace({ name, fewFiles }: Directory, { imagesIn }: RecordingAbout): void {
  if (imagesIn === "files" && fewFiles === true)
    throw new ReplayError("UNSUPPORTED", `${name} is no place for a file a frame (imagesIn: "files"): keep the frames in the rows, by imagesIn: "rows"`);
}

/** The way out of what is not as it is there. */
const OR = "or leave it out, or use another directory";

/** @throws ReplayError SPEC_MISMATCH naming what is given otherwise */
function same(name: string, given: Partial<RecordingAbout>, there: RecordingAbout): void {
  for (const key of ["fps", "images", "imagesIn"] as const) {
    if (given[key] !== undefined && given[key] !== there[key])
      throw mustBe("SPEC_MISMATCH", key, `${JSON.stringify(there[key])} as in ${name} (${OR})`, given[key]);
  }
  // As it would be written.
  if (given.about !== undefined) sameJson(name, JSON.parse(JSON.stringify(given.about)), there.about, "about");
  if (given.spec === undefined) return;
  const [asked, own] = [given.spec, there.spec].map(leavesIn) as [Map<string, string>, Map<string, string>];
  for (const path of new Set([...own.keys(), ...asked.keys()])) {
    const [a, b] = [asked.get(path), own.get(path)];
    if (a !== b) throw new ReplayError("SPEC_MISMATCH", `spec must have ${b ?? "no leaf"} at ${path} as in ${name} (${OR}), got ${a ?? "none"}`);
  }
}

/** In whatever order the keys are. @throws ReplayError SPEC_MISMATCH naming the first value that differs */
function sameJson(name: string, asked: unknown, there: unknown, path: string): void {
  const isNest = [asked, there].every((value) => typeof value === "object" && value !== null) && Array.isArray(asked) === Array.isArray(there);
  if (isNest) {
    const [a, b] = [asked, there] as [{ readonly [key: string]: unknown }, { readonly [key: string]: unknown }];
    const own = (of: object, key: string) => (Object.hasOwn(of, key) ? (of as typeof a)[key] : undefined);
    for (const key of new Set([...Object.keys(b), ...Object.keys(a)])) sameJson(name, own(a, key), own(b, key), `${path}.${key}`);
  } else if (asked !== there) {
    throw mustBe("SPEC_MISMATCH", path, `${there === undefined ? "left out" : JSON.stringify(there)} as in ${name} (${OR})`, asked);
  }
}

function leavesIn(spec: unknown): Map<string, string> {
  return new Map(
    leavesOf(spec as Spec).map(({ keys, leaf }) => [keys.join("."), JSON.stringify([leaf.dtype, leaf.shape, (leaf as { maxBytes?: number }).maxBytes])]),
  );
}
