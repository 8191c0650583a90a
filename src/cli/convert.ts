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
  withDataset,
} from "./dataset.ts";
import { Interrupted, UsageError } from "./exit.ts";
import type { Host, Result } from "./result.ts";
import { FORMATS, type Format, type FormatOptions, lossText, nonEmpty, unreadLosses, write } from "./targets.ts";
import { bytes, countText, escapeText } from "./text.ts";

const EXAMPLES = `
Without --format the name TO selects one. A name that ends with .parquet or .jsonl is such a file.
Any other name is a folder of TFDS datasets, in which <name>/<version>/ is created; one with another ending needs a slash at its end.
--format lerobot makes TO the folder of a dataset of version 3.0; films of a LeRobot dataset are copied, other images are in the rows. --format minari creates <id>/ in the folder TO.

What TO cannot hold of FROM is listed; with --strict nothing is written then. A result without a step is an error.

Examples:
  $ npx reprise convert cartpole/scripted-v0 tensorflow_datasets --name cartpole --shards 4
  $ npx reprise convert tensorflow_datasets/cartpole cartpole.parquet --mode drop
  $ npx reprise convert tensorflow_datasets/cartpole_pixels lerobot/cartpole --format lerobot --fps 50
  $ npx reprise convert demonstrations.jsonl ~/.minari/datasets --format minari --id demos/catch-v0
  $ npx reprise convert half_cheetah.hdf5 half_cheetah.jsonl --overwrite
  $ npx reprise convert runs/a a.parquet --mode repair
`;

export function addConvert(command: Command): Command {
  command
    .description("Writes a dataset in another format. Existing files stay unless you give --overwrite.")
    .argument("<from>", "a file or folder, or a URL: TFDS, Minari, D4RL, LeRobot, Parquet, JSONL, CSV, NPZ, Zarr, a recording, a journal or a snapshot")
    .argument("<to>", "a file that ends with .parquet or .jsonl, or a folder")
    .addOption(new Option("--format <format>", "the format to write (default: as TO ends)").choices(FORMATS))
    .option("--from-split <split>", "the split of FROM to read");
  return addOpen(addFinalStep(addMode(command)))
    .option("--overwrite", "replace existing files")
    .option("--strict", "refuse to write if the format cannot hold a part of FROM, instead of listing it")
    .option("--name <name>", "TFDS: name of the dataset (default: the name of FROM)")
    .option("--version <version>", "TFDS: version of the dataset (default: 1.0.0)")
    .option("--split <split>", "TFDS: the split to write (default: train)")
    .option("--shards <n>", "TFDS: number of files for the split", wholeNumber(1))
    .option(
      "--image <leaf>",
      "TFDS, LeRobot: a leaf of pixels to store as PNG, such as observation/image; may be repeated (LeRobot's default: all with 3 channels)",
      repeatable,
    )
    .option("--fps <n>", "LeRobot: frames a second (default: those of FROM, if it is LeRobot or a recording)", positive)
    .option("--task <text>", "LeRobot: what is done in all episodes (default: what the data says)")
    .option("--task-leaf <leaf>", "LeRobot: the text that says what is done, such as observation/instruction")
    .option("--robot-type <type>", "LeRobot: the robot")
    .option("--id <id>", "Minari: id of the dataset (default: that of FROM, or its name with -v0)")
    .addHelpText("after", EXAMPLES);
}

export interface ConvertOptions extends FormatOptions, ModeOption, FinalStepOption, SelectOptions {
  readonly format?: Format;
  readonly fromSplit?: string;
  readonly open?: readonly string[];
  readonly overwrite?: true;
  readonly strict?: true;
}

const FILES = [".parquet", ".jsonl", ".ndjson"];
/** Which formats an option is for. */
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
  id: { flag: "--id", formats: ["minari"] },
};
const TITLES: { readonly [format in Format]: string } = { tfds: "TFDS", lerobot: "LeRobot", minari: "Minari", parquet: "Parquet", jsonl: "JSON lines" };

export function convert(from: string, to: string, options: ConvertOptions, host: Host): Promise<Result> {
  const format = formatOf(to, options.format);
  for (const [option, { flag, formats }] of Object.entries(OF_FORMAT))
    if (options[option as keyof FormatOptions] !== undefined && !formats.includes(format))
      throw new UsageError(
        `${flag} works only with ${formats.map((name) => TITLES[name]).join(" and ")}, but ${to} becomes ${TITLES[format]}: give another --format, or leave ${flag} out`,
      );
  return withDataset(from, openOptionsOf(options), host, async (reader) => {
    const source = importFrom(reader, options, host);
    const { finalStep } = options;
    const data = withFinalObservations(source, { ...(finalStep !== undefined && { finalStep }), repeat: false });
    const unread = unreadLosses(reader);
    if (options.strict && unread.length > 0) throw new RldsError("UNSUPPORTED", `strict refuses what would be lost: ${unread.map(lossText).join("; ")}`);
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

/** Why nothing is left, as far as the import knows. */
function emptyRemedy({ episodes, kept, faults }: ImportReport): string {
  if (episodes === 0 || kept.steps > 0) return "";
  const [fault] = Object.entries(faults).find(([, { count }]) => count > 0) ?? [];
  return fault === undefined ? "" : `: all ${episodes} episodes have faults, which reprise inspect lists, and nothing of them could be kept`;
}

/** `--split` is that of the target. */
function openOptionsOf({ fromSplit, open, mode, without, only, rename, null: nulls }: ConvertOptions): OpenOptions {
  return {
    mode,
    ...(fromSplit !== undefined && { split: fromSplit }),
    ...(open && { open }),
    ...(without && { without }),
    ...(only && { only }),
    ...(rename && { rename }),
    ...(nulls && { null: nulls }),
  };
}

function formatOf(to: string, format: Format | undefined): Format {
  const ending = /\.[a-z][a-z0-9]*$/i.exec(to)?.[0].toLowerCase();
  const byName = /\.parquet$/i.test(to) ? "parquet" : /\.(jsonl|ndjson)$/i.test(to) ? "jsonl" : "tfds";
  const isFile = byName !== "tfds";
  // Parquet may be a folder as well.
  if (format !== undefined && isFile && format !== byName)
    throw new UsageError(`${to} ends with ${ending}, but --format is ${format}: name a folder, or another format`);
  if (format !== undefined) return format;
  if (ending !== undefined && !FILES.includes(ending) && !statSync(to, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(
      `${to} ends with ${ending}, but a dataset becomes a file of ${FILES.join(", ")} or a folder of TFDS: for a folder of that name write ${to}/`,
    );
  return byName;
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
