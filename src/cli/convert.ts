/** `reprise convert`: writes a dataset in another format. */
import { statSync } from "node:fs";
import { type Command, Option } from "commander";
import { type ImportReport, RldsError, type RldsReader, type WriteReport, withFinalObservations } from "../datasets/rlds/index.ts";
import { positive, repeatable, wholeNumber } from "./arguments.ts";
import {
  addFinalStep,
  addMode,
  addOpen,
  type FinalStepOption,
  finalStepsText,
  importFrom,
  lossesText,
  type ModeOption,
  type OpenOptions,
  reportText,
  type SelectOptions,
  SOURCES,
  type TopicOptions,
  withDataset,
} from "./dataset.ts";
import { Interrupted, UsageError } from "./exit.ts";
import type { Host, Result } from "./result.ts";
import { FORMATS, type Format, type FormatOptions, lossText, nonEmpty, unreadLosses, write } from "./targets.ts";
import { bytes, countText, escapeText } from "./text.ts";

const EXAMPLES = `
Without --format, the name TO selects the format. A name that ends with .parquet, .jsonl, .npz, .hdf5 or .csv selects a file of that format.
Any other name is a folder of TFDS datasets, in which <name>/<version>/ is created. If the name of such a folder has an ending, add a slash.
--format lerobot writes a dataset of version 3.0 to the folder TO, or 2.1 with --lerobot-version; films of a LeRobot dataset are copied, and other images are stored in the rows. --format minari creates <id>/ in the folder TO.

If TO cannot store some data of FROM, that data is listed; with --strict, nothing is written. A result without steps is an error.

Examples:
  $ npx reprise convert cartpole/scripted-v0 tensorflow_datasets --name cartpole --shards 4
  $ npx reprise convert tensorflow_datasets/cartpole cartpole.parquet --mode drop
  $ npx reprise convert tensorflow_datasets/cartpole_pixels lerobot/cartpole --format lerobot --fps 50
  $ npx reprise convert demonstrations.jsonl ~/.minari/datasets --format minari --id demos/catch-v0
  $ npx reprise convert lerobot/pick_cube demo.hdf5
  $ npx reprise convert half_cheetah.hdf5 half_cheetah.jsonl --overwrite
  $ npx reprise convert runs/a a.parquet --mode repair
`;

export function addConvert(command: Command): Command {
  command
    .addHelpText("before", "  $ npx reprise convert tensorflow_datasets/cartpole cartpole.parquet\n")
    .description("Writes a dataset in another format. Existing files are kept unless you pass --overwrite.")
    .argument("<from>", `a file, folder or URL: ${SOURCES}`)
    .argument("<to>", "a file that ends with .parquet, .jsonl, .npz, .hdf5 or .csv, or a folder")
    .addOption(new Option("--format <format>", "the format to write (default: by the ending of TO)").choices(FORMATS))
    .option("--from-split <split>", "the split of FROM to read");
  return addFormatOptions(addOpen(addFinalStep(addMode(command))))
    .option("--task <text>", "LeRobot: the task of all episodes (default: as the data states)")
    .addHelpText("after", EXAMPLES);
}

/** Adds the options that control how a dataset is written. */
export function addFormatOptions(command: Command): Command {
  return command
    .option("--overwrite", "replace existing files")
    .option("--strict", "write nothing if the format cannot store some of the data, instead of only listing that data")
    .option("--name <name>", "TFDS: name of the dataset (default: the name of FROM)")
    .option("--version <version>", "TFDS: version of the dataset (default: 1.0.0)")
    .option("--split <split>", "TFDS: the split to write (default: train)")
    .option("--shards <n>", "TFDS: number of files for the split", wholeNumber(1))
    .option(
      "--image <leaf>",
      "TFDS, LeRobot: an image leaf to store as PNG, such as observation/image; may be repeated (default for LeRobot: all images with 3 channels)",
      repeatable,
    )
    .option("--fps <n>", "LeRobot: frames per second (default: that of FROM, if FROM is a LeRobot dataset or a recording)", positive)
    .option("--task-leaf <leaf>", "LeRobot: the text leaf that describes the task, such as observation/instruction")
    .option("--robot-type <type>", "LeRobot: the type of the robot")
    .addOption(new Option("--lerobot-version <version>", "LeRobot: version of the format (default: 3.0)").choices(["2.1", "3.0"]))
    .option("--id <id>", "Minari: id of the dataset (default: that of FROM, or its name with -v0)");
}

/** The options that control how a dataset is read. */
export interface SourceOptions extends ModeOption, SelectOptions, TopicOptions {
  readonly fromSplit?: string;
  readonly open?: readonly string[];
}

export interface ConvertOptions extends FormatOptions, SourceOptions, FinalStepOption {
  readonly format?: Format;
  readonly overwrite?: true;
  readonly strict?: true;
}

/** The format for each ending of a file name. */
const ENDINGS: readonly (readonly [ending: string, format: Format])[] = [
  [".parquet", "parquet"],
  [".jsonl", "jsonl"],
  [".ndjson", "jsonl"],
  [".npz", "npz"],
  [".hdf5", "hdf5"],
  [".csv", "csv"],
];
/** The file name endings of datasets that consist of one file. */
export const FILES: readonly string[] = ENDINGS.map(([ending]) => ending);
/** The flag of each option, and the formats to which the option applies. */
const OF_FORMAT: { readonly [option in keyof FormatOptions]-?: { readonly flag: string; readonly formats: readonly Format[] } } = {
  name: { flag: "--name", formats: ["tfds"] },
  version: { flag: "--version", formats: ["tfds"] },
  split: { flag: "--split", formats: ["tfds"] },
  shards: { flag: "--shards", formats: ["tfds"] },
  image: { flag: "--image", formats: ["tfds", "lerobot"] },
  fps: { flag: "--fps", formats: ["lerobot"] },
  task: { flag: "--task", formats: ["lerobot"] },
  taskLeaf: { flag: "--task-leaf", formats: ["lerobot"] },
  robotType: { flag: "--robot-type", formats: ["lerobot"] },
  lerobotVersion: { flag: "--lerobot-version", formats: ["lerobot"] },
  id: { flag: "--id", formats: ["minari"] },
};
const TITLES: { readonly [format in Format]: string } = {
  ...{ tfds: "TFDS", lerobot: "LeRobot", minari: "Minari", parquet: "Parquet", jsonl: "JSON lines" },
  ...{ npz: "NPZ", hdf5: "HDF5", csv: "CSV" },
};

export function convert(from: string, to: string, options: ConvertOptions, host: Host): Promise<Result> {
  const format = formatOf(to, options.format);
  checkFormatOptions(to, format, options);
  return withDataset(from, openOptionsOf(options), host, async (reader) => {
    const source = importFrom(reader, options, host);
    const { finalStep } = options;
    const data = withFinalObservations(source, { ...(finalStep !== undefined && { finalStep }), repeat: false });
    const unread = unreadLosses(reader);
    if (options.strict && unread.length > 0) throw new RldsError("UNSUPPORTED", `strict forbids losing data: ${unread.map(lossText).join("; ")}`);
    const written = nonEmpty(data, () => emptyRemedy(source.report));
    const progress = host.progress("converting");
    const common = {
      signal: host.signal,
      overwrite: options.overwrite ?? false,
      strict: options.strict ?? false,
      onProgress: ({ episodes }: { readonly episodes: number }) => progress.at(episodes, reader.episodes),
    };
    try {
      const report = await write(format, written, reader, to, options, common);
      progress.end();
      const losses = [...unread, ...report.losses];
      return resultOf(to, format, { ...report, dropped: data.finalSteps.dropped, losses, sourceLosses: reader.losses }, source.report);
    } catch (error) {
      if (host.signal.aborted) throw new Interrupted(`${to} was not written`);
      throw error;
    } finally {
      progress.end();
    }
  });
}

/** Checks that every option applies to the format. @throws UsageError if an option does not apply */
export function checkFormatOptions(to: string, format: Format, options: FormatOptions): void {
  for (const [option, { flag, formats }] of Object.entries(OF_FORMAT))
    if (options[option as keyof FormatOptions] !== undefined && !formats.includes(format))
      throw new UsageError(
        `${flag} works only with ${formats.map((name) => TITLES[name]).join(" and ")}, but ${to} would be written as ${TITLES[format]}. Pass another --format, or remove ${flag}`,
      );
}

/** Returns the end of an error message: the reason why no step is left. Returns an empty text if the report of the import does not show a reason. */
export function emptyRemedy({ episodes, kept, faults }: ImportReport): string {
  if (episodes === 0 || kept.steps > 0) return "";
  const [fault] = Object.entries(faults).find(([, { count }]) => count > 0) ?? [];
  return fault === undefined ? "" : `, because all ${episodes} episodes have faults. List the faults with reprise inspect`;
}

/** Returns the options for opening the source. Here, `--split` names the split of the target, and `--from-split` names the split of the source. */
export function openOptionsOf({ fromSplit, open, topics, rate, mode, without, only, rename, null: nulls }: SourceOptions): OpenOptions {
  return {
    mode,
    ...(fromSplit !== undefined && { split: fromSplit }),
    ...(open && { open }),
    ...(topics !== undefined && { topics }),
    ...(rate !== undefined && { rate }),
    ...(without && { without }),
    ...(only && { only }),
    ...(rename && { rename }),
    ...(nulls && { null: nulls }),
  };
}

/**
 * Returns the format to write: the given format, otherwise the format that the ending of `to` selects, otherwise TFDS.
 * @throws UsageError if the ending belongs to a format other than the given one
 * @throws UsageError if no format is given, the ending is unknown, and `to` is not an existing folder
 */
export function formatOf(to: string, format: Format | undefined): Format {
  const ending = /\.[a-z][a-z0-9]*$/i.exec(to)?.[0].toLowerCase();
  const byName = ENDINGS.find(([name]) => name === ending)?.[1];
  if (format !== undefined && byName !== undefined && format !== byName)
    throw new UsageError(`${to} ends with ${ending}, but --format is ${format}. Pass a folder, or another --format`);
  if (format !== undefined) return format;
  if (byName !== undefined) return byName;
  if (ending !== undefined && !statSync(to, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(
      `${to} ends with ${ending}, but the name of a dataset file must end with ${ENDINGS.map(([name]) => name).join(", ")}. For a TFDS folder of that name, pass ${to}/`,
    );
  return "tfds";
}

function resultOf(
  to: string,
  format: Format,
  written: WriteReport & { readonly dropped: number; readonly sourceLosses: RldsReader["losses"] },
  report: ImportReport,
): Result {
  const { episodes, steps, bytes: size, files, repeated, dropped, losses, sourceLosses } = written;
  const finalSteps = { repeated, dropped };
  const head = `${to} (${format}): ${countText(episodes, "episode")}, ${countText(steps, "step")}, ${bytes(size)} in ${countText(files.length, "file")}\n`;
  const notKept = losses.map((loss) => `  not kept: ${escapeText(lossText(loss))}\n`).join("");
  return {
    value: { to, format, episodes, steps, bytes: size, files, finalSteps, losses, sourceLosses, report },
    text: `${head}${finalStepsText(finalSteps)}${notKept}${reportText(report)}${lossesText(sourceLosses)}`,
  };
}
