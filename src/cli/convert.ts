/** `reprise convert`: writes a dataset in another format. */
import { statSync } from "node:fs";
import { basename } from "node:path";
import type { Command } from "commander";
import { type ImportedRlds, type RldsReader, type WriteOptions, type WriteReport, writeJsonl, writeParquet, writeTfds } from "../rlds/index.ts";
import type { Answer, Host } from "./answer.ts";
import { several, whole } from "./arguments.ts";
import { addMode, addOpen, imported, type ModeOption, reportText, withDataset } from "./dataset.ts";
import { Interrupted, UsageError } from "./failure.ts";
import { bytes, counted } from "./text.ts";

const EXAMPLES = `
The name TO selects the format. A name that ends with .parquet or .jsonl is such a file.
Any other name is a folder of TFDS datasets, in which <name>/<version>/ is created; one with another ending needs a slash at its end.

Examples:
  $ npx reprise convert cartpole/scripted-v0 tensorflow_datasets --name cartpole --shards 4
  $ npx reprise convert tensorflow_datasets/cartpole cartpole.parquet --mode drop
  $ npx reprise convert half_cheetah.hdf5 half_cheetah.jsonl --overwrite
  $ npx reprise convert runs/a a.parquet --mode repair
`;

export function addConvert(command: Command): Command {
  command
    .description("Writes a dataset in another format. Existing files stay unless you give --overwrite.")
    .argument("<from>", "a file or folder, or a URL: TFDS, Minari, D4RL, LeRobot, Parquet, JSONL, NPZ, a journal or a snapshot")
    .argument("<to>", "a file that ends with .parquet or .jsonl, or a folder for TFDS")
    .option("--from-split <split>", "the split of FROM to read");
  return addOpen(addMode(command))
    .option("--overwrite", "replace existing files")
    .option("--name <name>", "TFDS: name of the dataset (default: the name of FROM)")
    .option("--version <version>", "TFDS: version of the dataset (default: 1.0.0)")
    .option("--split <split>", "TFDS: the split to write (default: train)")
    .option("--shards <n>", "TFDS: number of files for the split", whole(1))
    .option("--image <leaf>", "TFDS: a leaf of pixels to store as PNG, such as observation/image; may be repeated", several)
    .addHelpText("after", EXAMPLES);
}

interface TfdsOptionsGiven {
  readonly name?: string;
  readonly version?: string;
  readonly split?: string;
  readonly shards?: number;
  readonly image?: readonly string[];
}

export interface ConvertOptions extends TfdsOptionsGiven, ModeOption {
  readonly fromSplit?: string;
  readonly open?: readonly string[];
  readonly overwrite?: true;
}

const FILES = [".parquet", ".jsonl", ".ndjson"];
const OF_TFDS = ["name", "version", "split", "shards", "image"] as const;

export function convert(from: string, to: string, options: ConvertOptions, host: Host): Promise<Answer> {
  const ending = /\.[a-z][a-z0-9]*$/i.exec(to)?.[0].toLowerCase();
  if (ending !== undefined && !FILES.includes(ending) && !statSync(to, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(
      `${to} ends with ${ending}, but a dataset becomes a file of ${FILES.join(", ")} or a folder of TFDS: for a folder of that name write ${to}/`,
    );
  const format = /\.parquet$/i.test(to) ? "parquet" : /\.(jsonl|ndjson)$/i.test(to) ? "jsonl" : "tfds";
  const strange = format === "tfds" ? undefined : OF_TFDS.find((name) => options[name] !== undefined);
  if (strange !== undefined) throw new UsageError(`--${strange} works only with TFDS, but ${to} is a file: name a folder, or leave --${strange} out`);
  return withDataset(from, { split: options.fromSplit, open: options.open }, host, async (reader) => {
    const data = imported(reader, options, host);
    const progress = host.progress("converting");
    const common = {
      signal: host.signal,
      overwrite: options.overwrite ?? false,
      onProgress: ({ episodes }: { readonly episodes: number }) => progress.at(episodes, reader.episodes),
    };
    try {
      const written = await write();
      progress.end();
      return answer(to, format, written, data);
    } catch (error) {
      if (host.signal.aborted) throw new Interrupted(`${to} was not written`);
      throw error;
    } finally {
      progress.end();
    }

    function write(): Promise<WriteReport> {
      if (format === "parquet") return writeParquet(data, to, common);
      if (format === "jsonl") return writeJsonl(data, to, common);
      return asTfds(data, reader, to, { ...common, ...options });
    }
  });
}

async function asTfds(
  data: ImportedRlds,
  reader: RldsReader,
  to: string,
  { name = nameOf(reader.name), version, split, shards, image, ...common }: TfdsOptionsGiven & WriteOptions,
): Promise<WriteReport> {
  const { description } = reader.about;
  const { signal, overwrite, onProgress } = common;
  // The number of episodes decides which shard each one goes to.
  const episodes = shards === undefined ? undefined : await countOf(data);
  const known = episodes === undefined ? data : Object.assign(data, { episodes });
  return writeTfds(known, to, {
    name,
    ...(version !== undefined && { version }),
    ...(split !== undefined && { split }),
    ...(shards !== undefined && { shards }),
    ...(image !== undefined && { images: image }),
    ...(typeof description === "string" && { description }),
    signal,
    overwrite,
    onProgress,
  });
}

async function countOf(data: ImportedRlds): Promise<number> {
  let count = 0;
  for await (const _ of data) count++;
  return count;
}

/** A name that TFDS accepts. */
function nameOf(name: string): string {
  let word = basename(name)
    .replace(/\.[a-z0-9]+$/i, "")
    .replace(/\W+/g, "_")
    .replace(/^[\d_]+/, "");
  while (word.endsWith("_")) word = word.slice(0, -1);
  return word === "" ? "dataset" : word;
}

function answer(to: string, format: string, { episodes, steps, bytes: size, files }: WriteReport, { report }: ImportedRlds): Answer {
  const text = `${to} (${format}): ${counted(episodes, "episode")}, ${counted(steps, "step")}, ${bytes(size)} in ${counted(files.length, "file")}\n${reportText(report)}`;
  return { value: { to, format, episodes, steps, bytes: size, files, report }, text };
}
