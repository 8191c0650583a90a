/** `reprise edit`: writes a changed copy of a dataset. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { addSentence } from "../../base/error.ts";
import {
  concatFilms,
  type FilmSource,
  type ImportReport,
  type Loss,
  type RldsDataset,
  RldsError,
  type RldsReader,
  splitEpisodes,
  type WriteReport,
} from "../../datasets/rlds/index.ts";
import { checkFormatOptions, emptyRemedy, FILES, formatOf, openOptionsOf } from "../convert.ts";
import { finalStepsText, lossesText, type OpenOptions, reportText, withDataset } from "../dataset.ts";
import { Interrupted, UsageError } from "../exit.ts";
import { filmReferences, isUrl } from "../program-parts.ts";
import type { Host, Result } from "../result.ts";
import { datasetFolders, FORMATS, type Format, lossText, nonEmpty, remedyText, unreadLosses, unreadPaths, write } from "../targets.ts";
import { bytes, countText, escapeText } from "../text.ts";
import { ffmpegEncoder, hasFfmpeg } from "./ffmpeg.ts";
import { filmCutter } from "./film-cutter.ts";
import { flagsOf } from "./flags.ts";
import { checkNoMemoryOptions, editMemory, memoryKind } from "./memory.ts";
import { type EditOptions, sharesOf } from "./options.ts";
import { type EditedDataset, editedDataset } from "./pipeline.ts";
import { Replacement, recover } from "./replacement.ts";

/** The destination of an edited dataset. */
interface Target {
  readonly format: Format;
  /** The path of the file or folder that is replaced. */
  readonly path: string;
  /** The names that lead from the folder that is passed to a writer to the target. */
  readonly below: readonly string[];
  /** The name of the file, if the target is a file. */
  readonly file?: string;
  readonly options: EditOptions;
}

export async function edit(from: string, to: string, options: EditOptions, host: Host): Promise<Result> {
  // An edit that was killed may have moved the source aside.
  if (!isUrl(from)) await recover(from);
  const kind = memoryKind(from);
  if (kind !== undefined && options.format === undefined && !isFileName(to)) return editMemory(kind, from, to, options, host);
  checkNoMemoryOptions(from, options);
  const shares = options.splitInto === undefined ? undefined : sharesOf(options.splitInto);
  if (options.seed !== undefined && shares === undefined) throw new UsageError("--seed requires --split-into. Pass --split-into, or remove --seed");
  if (options.sourceFps !== undefined && options.resampleFps === undefined)
    throw new UsageError("--source-fps requires --resample-fps. Pass the new rate with --resample-fps, or remove --source-fps");
  const flagged = options.flags === undefined ? [] : (await flagsOf(options.flags)).flagged;
  const paths = [from, ...(options.concat ?? [])];
  for (const path of options.concat ?? []) if (!isUrl(path)) await recover(path);
  const own = openOptionsOf(options);
  const { split: _, ...others } = own;
  let replacement: Replacement | undefined;
  try {
    const result = await withDatasets(paths, [own, others], host, async (readers) => {
      const target = targetOf(from, to, options, readers[0] as RldsReader, shares);
      checkFormatOptions(to, target.format, writeOptionsOf(target.options));
      if (options.wholeFilms && target.format !== "lerobot")
        throw new UsageError(`--whole-films works only with LeRobot, but ${to} would be written as ${target.format}. Remove --whole-films`);
      const sources = readers.map((reader, k) => ({ name: paths[k] as string, reader }));
      replacement = await Replacement.begin(target.path, target.below);
      return await writeParts(sources, target, { shares, flagged, to, folder: replacement.to }, host).catch((error) => {
        throw withUnread(error, readers);
      });
    });
    // At this point, all readers have closed their files, so the target may be one of the sources.
    await replacement?.commit();
    return result;
  } catch (error) {
    await replacement?.discard();
    if (host.signal.aborted) throw new Interrupted(`${to} was not written`);
    throw replacement === undefined ? error : withTarget(error, replacement);
  }
}

/**
 * Opens all datasets, passes the readers to `use`, and closes the readers again. The second argument contains the options for the first dataset and the options
 * for all others.
 */
async function withDatasets<T>(
  paths: readonly string[],
  [first, others]: readonly [OpenOptions, OpenOptions],
  host: Host,
  use: (readers: readonly RldsReader[]) => Promise<T>,
): Promise<T> {
  const open = (k: number, readers: readonly RldsReader[]): Promise<T> =>
    k === paths.length ? use(readers) : withDataset(paths[k] as string, k === 0 ? first : others, host, (reader) => open(k + 1, [...readers, reader]));
  return open(0, []);
}

/** Returns whether a name ends like a dataset that consists of one file. */
function isFileName(name: string): boolean {
  return FILES.some((ending) => name.toLowerCase().endsWith(ending));
}

/**
 * Returns the target of an edit. If OUT is a folder and --format is not set, OUT keeps the format of IN if that is TFDS, LeRobot or Minari. @throws UsageError
 * if OUT does not fit the other options
 */
function targetOf(from: string, to: string, options: EditOptions, reader: RldsReader, shares: object | undefined): Target {
  const isInPlace = existsSync(to) && existsSync(from) && realpathSync(from) === realpathSync(to);
  if (isInPlace) return ownPlace(to, options, reader, shares);
  const byName = formatOf(to, options.format);
  const isFile = isFileName(to);
  const keeps = options.format === undefined && !isFile && FOLDER_FORMATS.some((name) => name === reader.format);
  const format = keeps ? (reader.format as Format) : byName;
  if (shares !== undefined && isFile)
    throw new UsageError(`--split-into writes several datasets, but ${to} is one file. Pass a folder as OUT, and set --format ${format}`);
  if (shares !== undefined && options.split !== undefined) throw new UsageError("--split-into sets the names of the splits. Remove --split");
  if (isFile) return { format, path: to, below: [basename(to)], file: basename(to), options };
  // Except for TFDS, each part is a whole dataset with its own path below `to`, so `to` itself is the target.
  const below = shares !== undefined && format !== "tfds" ? [] : datasetFolders(format, reader, options);
  return { format, path: join(to, ...below), below, options: keeps && isOlderLeRobot(reader) ? { ...OLDER, ...options } : options };
}

/** The formats whose datasets are folders. If OUT is a folder, it keeps such a format of IN. */
const FOLDER_FORMATS: readonly Format[] = ["tfds", "lerobot", "minari"];
/** The writable format of sources whose reader reports a more specific format. A robomimic dataset is an HDF5 file. */
const OWN_FORMATS: { readonly [format: string]: string } = { robomimic: "hdf5" };
/** The option that writes the older version of LeRobot. It is set for a source of version 2 whose format is kept. */
const OLDER = { lerobotVersion: "2.1" } as const;

/**
 * Returns the target of an edit in place. @throws UsageError if the edit would change the format or delete other data, or if an option does not work in place
 */
function ownPlace(to: string, options: EditOptions, reader: RldsReader, shares: object | undefined): Target {
  const { format = FORMATS.find((name) => name === reader.format) ?? formatOf(to, undefined) } = options;
  if (format !== (OWN_FORMATS[reader.format] ?? reader.format))
    throw new UsageError(`an edit in place cannot change the format ${reader.format} of ${to}. Pass another OUT, or remove --format`);
  if (!options.overwrite)
    throw new UsageError(`IN and OUT are both ${to}. Pass --overwrite to replace it once the new dataset is complete, or pass another OUT`);
  if (shares !== undefined) throw new UsageError(`--split-into writes several datasets. Pass an OUT other than IN`);
  if (format !== "tfds" && reader.split !== undefined)
    throw new UsageError(
      `--from-split ${reader.split} reads a part of ${to}, and the other episodes would be deleted. Remove it and select episodes with --episodes, or pass another OUT`,
    );
  checkUnread(to, options, reader);
  if (isFileName(to)) return { format, path: to, below: [basename(to)], file: basename(to), options };
  if (statSync(to).isFile())
    throw new UsageError(`edit can read ${to}, but cannot write it, because its name does not end with one of ${FILES.join(", ")}. Pass another OUT`);
  if (format === "tfds") return ownVersion(to, options, reader);
  // A reader also finds a dataset in a subfolder of `to`, but the new dataset would be written next to that subfolder.
  if (format === "minari" && !MINARI_FILES.some((name) => existsSync(join(to, name)))) throw belowError(to);
  if (format === "jsonl") throw new UsageError(`${to} is a folder with a file of JSON lines. Pass that file as IN and OUT`);
  const below = datasetFolders(format, reader, {});
  if (options.id !== undefined) throw new UsageError("--id cannot be used when a dataset is edited in place. Remove it, or pass an OUT other than IN");
  return { format, path: to, below, options: isOlderLeRobot(reader) ? { ...OLDER, ...options } : options };
}

function isOlderLeRobot({ format, about }: RldsReader): boolean {
  return format === "lerobot" && String(about.codebase_version).startsWith("v2");
}

/** The folder of a Minari dataset contains at least one of these files. */
const MINARI_FILES = ["data/metadata.json", "data/main_data.hdf5"];

function belowError(to: string): UsageError {
  return new UsageError(`the dataset is in a subfolder of ${to}, and would remain next to the new dataset. Pass that subfolder as IN and OUT`);
}

/** Checks that the edit would not delete any data that the reader does not read. @throws UsageError if it would */
function checkUnread(to: string, { open = [] }: EditOptions, { unread = [], about }: RldsReader): void {
  // A user who sets an option accepts that the option leaves data out.
  const lost = unread.filter(({ what }) => !open.some((option) => option.startsWith(`${what}=`)));
  const names = [...lost.map(({ what }) => what), ...unreadPaths(about)];
  if (names.length === 0) return;
  const remedies = lost.map(({ what, remedy }) => `${remedyText(remedy)}${remedy.includes(`${what}=true`) ? `, --open ${what}=false deletes them` : ""}`);
  const hint = [...new Set(remedies)].join(", ");
  throw new UsageError(
    `${names.join(", ")} of ${to} would be deleted, because they are not read. Pass another OUT${hint && `, or one of these options: ${hint}`}`,
  );
}

/** Adds a list of the unread data to an error about a missing path, because the path may belong to that data. Returns any other error unchanged. */
function withUnread(error: unknown, readers: readonly RldsReader[]): unknown {
  const unread = new Map(readers.flatMap((reader) => (reader.unread ?? []).map(({ what, remedy }) => [what, remedy] as const)));
  if (!(error instanceof RangeError) || unread.size === 0 || !/ must be (a condition on one of|a leaf of the steps) /.test(error.message)) return error;
  const text = [...unread].map(([what, remedy]) => `${what} of the source are not read: ${remedyText(remedy)}`).join(". ");
  return Object.assign(error, { message: addSentence(error.message, text) });
}

/** A file in the folder of every version of a TFDS dataset. */
const FEATURES = "features.json";

/**
 * Returns the version of a TFDS dataset that the reader reads, as the target of an edit in place. @throws UsageError if --name or --version is set, if no
 * single split is selected, or if the dataset is in a subfolder
 */
function ownVersion(to: string, options: EditOptions, reader: RldsReader): Target {
  if (options.name !== undefined || options.version !== undefined)
    throw new UsageError("--name and --version cannot be used when a dataset is edited in place. Remove them, or pass an OUT other than IN");
  const version = typeof reader.about.version === "string" ? reader.about.version : "1.0.0";
  const { split = reader.split } = options;
  if (split === undefined || !/^\w+$/.test(split))
    throw new UsageError(`${split ?? "IN"} is not a single split. Set the split to write with --split, or pass an OUT other than IN`);
  const path = existsSync(join(to, FEATURES)) ? resolve(to) : join(to, version);
  if (!existsSync(join(path, FEATURES))) throw belowError(to);
  return { format: "tfds", path, below: [reader.name, version], options: { ...options, name: reader.name, version, split } };
}

function writeOptionsOf({ task: _, ...options }: EditOptions) {
  return options;
}

interface Parts {
  readonly shares: { readonly [part: string]: number } | undefined;
  readonly flagged: readonly number[];
  /** OUT as the user passed it. */
  readonly to: string;
  /** The temporary folder to which the writers write. */
  readonly folder: string;
}

type PartReport = WriteReport & { readonly part: string | undefined };

async function writeParts(
  sources: readonly FilmSource[],
  { format, file, options }: Target,
  { shares, flagged, to, folder }: Parts,
  host: Host,
): Promise<Result> {
  const unread = sources.flatMap(({ reader }) => unreadLosses(reader));
  if (options.strict && unread.length > 0) throw new RldsError("UNSUPPORTED", `strict forbids losing data: ${unread.map(lossText).join("; ")}`);
  const names = shares === undefined ? [undefined] : Object.keys(shares);
  const progress = host.progress("editing");
  const total = options.episodes === undefined ? totalOf(sources, names.length) : undefined;
  let read = 0;
  const joinsFilms = format === "lerobot" && sources.length > 1;
  const onEpisode = () => progress.at(++read, total);
  const encoded = format === "lerobot" ? encodedFilms((sources[0] as FilmSource).reader, options) : [];
  const edited = editedDataset(sources, { options, flagged, joinsFilms, encoded, host, onEpisode });
  const reader = changedReader(sources, edited, options, format);
  const parts = shares === undefined ? undefined : splitEpisodes(edited.data, shares, { seed: options.seed ?? 0n });
  const folders = sources.map(({ name }) => name);
  const films = {
    ...(encoded.length > 0 && { videos: encoded, videoEncoder: ffmpegEncoder }),
    ...(!options.wholeFilms && { cutFilm: filmCutter({ folders, signal: host.signal }) }),
  };
  const common = { signal: host.signal, overwrite: options.overwrite ?? false, strict: options.strict ?? false };
  const reports: PartReport[] = [];
  try {
    for (const part of names) {
      const remedy = () =>
        part === undefined ? emptyRemedy(edited.reports()[0] as ImportReport) : ` to the part ${part}, because there are too few episodes for its share`;
      const data = nonEmpty(part === undefined ? edited.data : (parts?.[part] as RldsDataset), remedy);
      const isSplit = part !== undefined && format === "tfds";
      const path = join(folder, part === undefined || isSplit ? (file ?? "") : `${part}${PART_ENDINGS[format] ?? ""}`);
      const report = await write(format, data, reader, path, { ...writeOptionsOf(options), ...(isSplit && { split: part }) }, common, films);
      reports.push({ ...report, part });
    }
  } finally {
    progress.end();
  }
  return resultOf({ to, format, sources, edited, reports, unread });
}

/** The file name endings of the formats whose parts are single files. The parts of all other formats are folders. */
const PART_ENDINGS: { readonly [format: string]: string } = { jsonl: ".jsonl", npz: ".npz", hdf5: ".hdf5", csv: ".csv" };

/** Returns the total number of episodes over all passes, or undefined if it is unknown. */
function totalOf(sources: readonly FilmSource[], passes: number): number | undefined {
  const counts = sources.map(({ reader }) => reader.episodes);
  return counts.includes(undefined) ? undefined : (counts as number[]).reduce((a, b) => a + b, 0) * passes;
}

/**
 * Returns the first reader with the spec, frame rate and films of the edited dataset. Writers take the metadata from this reader.
 * @throws UsageError if --fps differs from --resample-fps, or if the sources of a LeRobot dataset have different frame rates
 * @throws RldsError UNSUPPORTED if the films of the sources cannot be joined
 */
function changedReader(sources: readonly FilmSource[], { data }: EditedDataset, { resampleFps, fps }: EditOptions, format: Format): RldsReader {
  const [first] = sources as readonly [FilmSource];
  const { reader } = first;
  if (resampleFps !== undefined && fps !== undefined && fps !== resampleFps)
    throw new UsageError(`--fps ${fps} differs from --resample-fps ${resampleFps}. Remove --fps, whose default is the new rate`);
  if (format === "lerobot" && resampleFps === undefined && fps === undefined) checkRates(sources);
  const { stepSpec = reader.stepSpec, metadataSpec = reader.metadataSpec } = data;
  const about = resampleFps === undefined ? reader.about : { ...reader.about, fps: resampleFps };
  const films = format === "lerobot" && sources.length > 1 ? concatFilms(sources) : reader.films;
  // Films that will be encoded again are already leaves of pixels in this spec.
  const isFilmed = filmReferences(stepSpec).some((keys) => films?.cameras.has(keys.join("/")));
  const { films: _, ...rest } = reader;
  return { ...rest, about, stepSpec, metadataSpec, ...(films && isFilmed && { films }) };
}

/**
 * Returns the paths of the films that cannot be copied, because they are resampled or their channels are swapped. @throws RldsError UNSUPPORTED, with these
 * paths, if ffmpeg is not installed
 */
function encodedFilms({ films, stepSpec }: RldsReader, { resampleFps, swapChannels = [] }: EditOptions): readonly string[] {
  const paths = filmReferences(stepSpec)
    .map((keys) => keys.join("/"))
    .filter((path) => films?.cameras.has(path));
  const isResampled = resampleFps !== undefined && resampleFps !== films?.fps;
  const encoded = paths.filter((path) => isResampled || swapChannels.some((name) => name.replaceAll(".", "/") === path));
  if (encoded.length === 0 || hasFfmpeg()) return encoded;
  const isOne = encoded.length === 1;
  const change = isResampled
    ? `of ${films?.fps} frames per second, and cannot be copied at a rate of ${resampleFps}`
    : "whose channels cannot be swapped in a copy";
  throw new RldsError(
    "UNSUPPORTED",
    `${encoded.join(", ")} ${isOne ? "is a film" : "are films"} ${change}. Install ffmpeg to encode ${isOne ? "it" : "them"} again, or leave ${isOne ? "it" : "them"} out with --without`,
  );
}

/** Checks that all sources have the same frame rate, because a LeRobot dataset has only one. @throws UsageError if the sources state different frame rates */
function checkRates(sources: readonly FilmSource[]): void {
  const [first, ...others] = sources as readonly [FilmSource, ...FilmSource[]];
  const rate = first.reader.about.fps;
  const other = others.find(({ reader }) => typeof rate === "number" && typeof reader.about.fps === "number" && reader.about.fps !== rate);
  if (other !== undefined)
    throw new UsageError(
      `${other.name} has ${other.reader.about.fps} steps per second, but ${first.name} has ${rate}. Pass --resample-fps, or one --fps for both`,
    );
}

interface Outcome {
  readonly to: string;
  readonly format: Format;
  readonly sources: readonly FilmSource[];
  readonly edited: EditedDataset;
  readonly reports: readonly PartReport[];
  readonly unread: readonly Loss[];
}

function resultOf({ to, format, sources, edited, reports, unread }: Outcome): Result {
  const sum = (of: (report: PartReport) => number) => reports.reduce((total, report) => total + of(report), 0);
  const [episodes, steps, size, repeated] = [sum((r) => r.episodes), sum((r) => r.steps), sum((r) => r.bytes), sum((r) => r.repeated)];
  const files = reports.flatMap((report) => report.files);
  const finalSteps = { repeated, dropped: edited.dropped() };
  const losses = [...new Map([...unread, ...reports.flatMap((report) => report.losses)].map((loss) => [lossText(loss), loss])).values()];
  const imported = edited.reports();
  const sourceLosses = sources.flatMap(({ reader }) => reader.losses ?? []);
  const hasLosses = sources.some(({ reader }) => reader.losses !== undefined);
  const parts = reports.flatMap(({ part, ...report }) =>
    part === undefined ? [] : [{ part, episodes: report.episodes, steps: report.steps, files: report.files }],
  );
  const partsText = parts.map((part) => `  ${part.part}: ${countText(part.episodes, "episode")}, ${countText(part.steps, "step")}\n`).join("");
  const head = `${to} (${format}): ${countText(episodes, "episode")}, ${countText(steps, "step")}, ${bytes(size)} in ${countText(files.length, "file")}\n`;
  const notKept = losses.map((loss) => `  not kept: ${escapeText(lossText(loss))}\n`).join("");
  return {
    value: {
      ...{ to, format, episodes, steps, bytes: size, files, finalSteps, losses },
      ...(parts.length > 0 && { parts }),
      ...(hasLosses && { sourceLosses }),
      report: imported[0],
      ...(imported.length > 1 && { reports: imported }),
    },
    text: `${head}${partsText}${finalStepsText(finalSteps)}${notKept}${imported.map(reportText).join("")}${lossesText(sourceLosses)}`,
  };
}

/** Returns the error with temporary paths replaced by the paths of the target. */
function withTarget(error: unknown, replacement: Replacement): unknown {
  if (!(error instanceof RldsError)) return error;
  const { file } = error;
  return Object.assign(error, { message: replacement.named(error.message), ...(file !== undefined && { file: replacement.named(file) }) });
}
