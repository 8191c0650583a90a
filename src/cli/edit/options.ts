/** Defines the options of `reprise edit` and parses their values. */
import { type Command, Option } from "commander";
import { didYouMean } from "../../base/error.ts";
import { SELECTORS } from "../../index.ts";
import { DTYPES, type Dtype, isDtype } from "../../schema/dtype.ts";
import { positive, repeatable, seed } from "../arguments.ts";
import { addFormatOptions, type ConvertOptions } from "../convert.ts";
import { addFinalStep, addMode, addOpen } from "../dataset.ts";
import { UsageError } from "../exit.ts";
import { FORMATS } from "../targets.ts";

export interface EditOptions extends Omit<ConvertOptions, "task"> {
  readonly episodes?: string;
  readonly dropEpisodes?: string;
  readonly flags?: string;
  readonly where?: readonly string[];
  readonly cast?: readonly string[];
  readonly swapChannels?: readonly string[];
  readonly resampleFps?: number;
  readonly sourceFps?: number;
  readonly task?: readonly string[];
  readonly concat?: readonly string[];
  readonly splitInto?: string;
  readonly seed?: bigint;
  readonly wholeFilms?: true;
  readonly add?: readonly string[];
  readonly maxSize?: readonly string[];
  readonly maxTimesSampled?: readonly string[];
  readonly sampler?: readonly string[];
  readonly remover?: readonly string[];
  readonly rateLimiter?: readonly string[];
}

const FIRST_EXAMPLE = '  $ npx reprise edit runs/pick runs/pick-good --drop-episodes 3,17-19 --where "return > 0" --task "Pick up the cube"\n';

const EXAMPLES = `
The name OUT selects the format, as for convert; if OUT is IN, the format does not change. OUT is written to a temporary location and moved only when it is complete.
With --overwrite, OUT may be IN, which stays intact until the new dataset is complete. Episodes are numbered from 0, as in IN.

Order of changes: choose columns (--without, --only, --rename), choose episodes (--episodes, --drop-episodes, --flags), handle faults (--mode), --cast, --resample-fps,
--swap-channels, --task; append OTHER datasets with the same changes (--concat); choose among all episodes (--where); divide them into parts (--split-into).

A snapshot or a journal keeps its kind, with its tables, items, keys, priorities and writers, unless OUT ends like a dataset file or --format is set. It accepts --rename, --without, --only, --cast,
--add, --max-size, --max-times-sampled, --sampler, --remover and --rate-limiter. If a table becomes smaller, its remover selects the items to remove.

Examples:
  $ npx reprise edit demos.jsonl good.parquet --where success --where "length >= 10"
  $ npx reprise edit lerobot/a lerobot/ab --concat lerobot/b lerobot/c
  $ npx reprise edit lerobot/a lerobot/a --overwrite --rename observation.images.cam=observation.images.top --task "0-9=Pick" --task "10-=Place"
  $ npx reprise edit robot.hdf5 robot.parquet --cast action=f32 --swap-channels observation/image --resample-fps 10 --source-fps 20
  $ npx reprise edit cartpole.parquet tensorflow_datasets --split-into train=0.9,val=0.1 --seed 1
  $ npx reprise edit replay.snapshot next.snapshot --add mood=0 --rename act=action --max-size memory=50000
  $ npx reprise edit runs/journal runs/journal --overwrite --sampler memory=prioritized:0.6 --cast reward=f64
  $ npx reprise edit runs/journal runs/queue --rate-limiter memory=queue:100 --max-times-sampled memory=1
`;

/** The forms of the values of `--rate-limiter`, for messages. */
export const LIMITER_FORMS = "minSize:ITEMS, sampleToInsertRatio:RATIO,ITEMS,BUFFER, queue:ITEMS";

export function addEdit(command: Command): Command {
  command
    .description("Writes a changed copy of a dataset: selects episodes and columns, changes dtypes, tasks or rates, joins datasets, or divides one into parts.")
    .addHelpText("before", FIRST_EXAMPLE)
    .argument("<in>", "a file, folder or URL in any format that convert reads")
    .argument("<out>", "a file or folder, as for convert; may be IN with --overwrite")
    .option("--episodes <numbers>", "the episodes to keep, such as 0-9,12 or 100-")
    .option("--drop-episodes <numbers>", "the episodes to leave out")
    .option("--flags <file>", "a file of flags, saved in the page's Look room, with the episodes to leave out")
    .option(
      "--where <condition>",
      'keep episodes in which any step meets a condition: PATH (not zero), or "PATH OP VALUE" with = != < <= > >=, quoted for the shell; in an array, any element may meet it, unless a path such as observation/state/1 selects one; return and length describe the episode; may be repeated, and all conditions must be met',
      repeatable,
    )
    .option("--cast <leaf=dtype>", `a new dtype, such as action=f32 (${Object.keys(DTYPES).join(", ")}); may be repeated`, repeatable)
    .option("--swap-channels <leaf>", "an image leaf whose red and blue channels are swapped (for BGR); may be repeated", repeatable)
    .option("--resample-fps <n>", "steps per second: keeps the steps with the nearest timestamps and adds up the rewards between them", positive)
    .option("--source-fps <n>", "for --resample-fps: the steps per second of IN, if it has no timestamps (default: the rate that IN states)", positive)
    .option("--task <text>", 'the task of all episodes, or EPISODES=TEXT for some episodes of IN, such as "0-9=Pick up the cube"; may be repeated', repeatable)
    .option("--concat <other...>", "datasets with the same spec, whose episodes are appended to those of IN", repeatable)
    .option(
      "--split-into <shares>",
      "divide the episodes at random into parts, such as train=0.9,val=0.1: as splits for TFDS, otherwise as one dataset OUT/PART per part",
    )
    .option("--whole-films", "LeRobot: copy whole films, including the frames of omitted episodes; does not need ffmpeg")
    .option("--seed <n>", "for --split-into: the seed of the random assignment (default: 0)", seed)
    .option(
      "--add <leaf=value>",
      "for a snapshot or journal: a new leaf, such as mood=0, mood=0:i32 or seen=false:bool (default: f32); may be repeated",
      repeatable,
    )
    .option("--max-size <table=n>", "for a snapshot or journal: the maximum number of items in a table, such as memory=50000; may be repeated", repeatable)
    .option(
      "--sampler <table=kind>",
      `for a snapshot or journal: ${SELECTORS.join(", ")}, with an exponent such as memory=prioritized:0.6; may be repeated`,
      repeatable,
    )
    .option("--remover <table=kind>", "for a snapshot or journal: which items a full table evicts, such as memory=fifo; may be repeated", repeatable)
    .option(
      "--rate-limiter <table=kind>",
      `for a snapshot or journal: when inserts and draws wait, one of ${LIMITER_FORMS}, such as memory=minSize:1000; may be repeated`,
      repeatable,
    )
    .option(
      "--max-times-sampled <table=n>",
      "for a snapshot or journal: the number of draws after which an item is removed, such as memory=1 for a queue; may be repeated",
      repeatable,
    )
    .addOption(
      new Option(
        "--format <format>",
        "the format to write (default: by the ending of OUT; for a folder, the format of IN if that is also a folder; otherwise tfds)",
      ).choices(FORMATS),
    )
    .option("--from-split <split>", "the split of IN to read");
  return addFormatOptions(addOpen(addFinalStep(addMode(command)))).addHelpText("after", EXAMPLES);
}

/** Splits a text such as NAME=VALUE at the first equals sign. @throws UsageError if the name or the value is missing */
export function pairOf(flag: string, text: string, what: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1) throw new UsageError(`${flag} requires ${what}, got ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Returns the new dtype of each leaf. @throws UsageError if a text does not have the form LEAF=DTYPE */
export function dtypesOf(casts: readonly string[]): { readonly [leaf: string]: Dtype } {
  return Object.fromEntries(
    casts.map((text) => {
      const at = text.lastIndexOf("=");
      const dtype = text.slice(at + 1);
      const hint = didYouMean(dtype, Object.keys(DTYPES));
      if (at < 1 || !isDtype(dtype))
        throw new UsageError(
          `--cast requires LEAF=DTYPE, where DTYPE is one of ${Object.keys(DTYPES).join(", ")}, got ${JSON.stringify(text)}${hint && `.${hint}`}`,
        );
      return [text.slice(0, at), dtype];
    }),
  );
}

/** Returns the share of each part, by name and in order. @throws UsageError if the text is not a list of NAME=SHARE, or names a part twice */
export function sharesOf(text: string): { readonly [part: string]: number } {
  const shares = new Map<string, number>();
  for (const part of text.split(",")) {
    const [name, share, ...more] = part.split("=").map((side) => side.trim());
    const isShare = /^[A-Za-z][\w-]*$/.test(name as string) && /^(\d+|\d*\.\d+)$/.test(share ?? "") && more.length === 0;
    if (!isShare) throw new UsageError(`--split-into requires NAME=SHARE,…, such as train=0.9,val=0.1, got ${JSON.stringify(text)}`);
    if (shares.has(name as string)) throw new UsageError(`--split-into contains the part ${name} twice. Pass it once`);
    shares.set(name as string, Number(share));
  }
  return Object.fromEntries(shares);
}

/** A task, and the episodes to which it applies. */
export interface TaskText {
  /** The episode numbers as the user passed them. Undefined for all episodes. */
  readonly episodes: string | undefined;
  readonly text: string;
}

export function tasksOf(tasks: readonly string[]): readonly TaskText[] {
  return tasks.map((task) => {
    const at = task.indexOf("=");
    const episodes = task.slice(0, Math.max(at, 0));
    return /^[\d,\s-]+$/.test(episodes) && /\d/.test(episodes) ? { episodes, text: task.slice(at + 1) } : { episodes: undefined, text: task };
  });
}
