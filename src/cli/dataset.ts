/** Opens datasets for all commands, and defines the options that the commands share. */
import { readFile } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { type Command, Option } from "commander";
import {
  type FinalStepCounts,
  type FinalStepRule,
  type ImportedRlds,
  type ImportMode,
  type ImportReport,
  importRlds,
  openRlds,
  type RldsReader,
  type SelectionOptions,
  type SourceLoss,
} from "../datasets/rlds/index.ts";
import { positive, repeatable } from "./arguments.ts";
import { UsageError } from "./exit.ts";
import type { Host } from "./result.ts";
import { countText, escapeText } from "./text.ts";

export interface ModeOption {
  readonly mode: ImportMode | "salvage";
}

const MODE = `how to handle faulty episodes: strict stops at the first one, repair fixes them, drop leaves them out, \
salvage reads the intact parts of damaged or incomplete files, reports the rest, and fixes episodes as repair does`;

export function addMode(command: Command): Command {
  return command.addOption(new Option("--mode <mode>", MODE).choices(["strict", "repair", "drop", "salvage"]).default("strict"));
}

/** Adds the option `--mode`, with which a command can read damaged files. */
export function addSalvage(command: Command): Command {
  const mode = new Option("--mode <mode>", "strict stops at the first damage in a file, salvage reads the intact parts and reports the rest");
  return command.addOption(mode.choices(["strict", "salvage"]).default("strict"));
}

export interface FinalStepOption {
  readonly finalStep?: FinalStepRule;
}

const FINAL_STEP = `how to read the last step of every episode: observation (only the final observation), transition (it has an action, and its observation is also used as the final one), \
drop (leave out a transition without a next observation), refuse (such an episode is an error); default: as the data states for each episode`;

export function addFinalStep(command: Command): Command {
  return command.addOption(new Option("--final-step <what>", FINAL_STEP).choices(["observation", "transition", "drop", "refuse"]));
}

/** Returns one line per kind of change to last steps, with its count, or an empty text if no last step was changed. */
export function finalStepsText({ repeated, dropped }: FinalStepCounts): string {
  const repeatedText = repeated === 0 ? "" : `  no final observation in ${countText(repeated, "episode")}: the last observation is repeated\n`;
  return repeatedText + (dropped === 0 ? "" : `  no final observation in ${countText(dropped, "episode")}: the last transition is left out\n`);
}

/** The options that select and rename columns and replace nulls. */
export interface SelectOptions {
  readonly without?: readonly string[];
  readonly only?: readonly string[];
  readonly rename?: readonly string[];
  readonly null?: readonly string[];
}

export interface OpenOptions extends SelectOptions, TopicOptions, Partial<ModeOption> {
  readonly split?: string;
  readonly open?: readonly string[];
}

/** The options for reading MCAP files. */
export interface TopicOptions {
  readonly topics?: string;
  readonly rate?: number;
}

const TOPICS = `MCAP: a JSON file that maps each leaf to its topic, such as {"observation/state": {"topic": "/joint_states", "field": "position"}, "action": "/command"}; inspect lists the topics`;

const OPEN = "an option for the function that opens the format, such as maxEpisodeSteps=1000 for D4RL; may be repeated";

export function addOpen(command: Command): Command {
  return addSelect(command)
    .option("--open <option=value>", OPEN, repeatable)
    .option("--topics <file>", TOPICS)
    .option(
      "--rate <hz>",
      "MCAP: steps per second; a step takes the last message at or before its time, or the nearest message with --open sample=nearest (default: 10)",
      positive,
    );
}

/** Adds the options that select and rename columns and replace nulls. They refer to a column by its name in the file or in a step, with dots or slashes. */
export function addSelect(command: Command): Command {
  return command
    .option("--without <column>", "a column to leave out without reading it, such as observation/instruction; may be repeated", repeatable)
    .option("--only <column>", "a column to keep; other step metadata and other columns of the same field are left out; may be repeated", repeatable)
    .option("--rename <column=name>", "a new name for a column, such as state=observation.state; may be repeated", repeatable)
    .option(
      "--null <column=value>",
      "the value that replaces nulls in a column, such as x=0 (Parquet, LeRobot, JSON lines; CSV: empty cells); may be repeated",
      repeatable,
    );
}

/** Returns the column options in the form that a reader takes. @throws UsageError if a value of --rename or --null does not have the form COLUMN=VALUE */
export function selectionOf({ without, only, rename, null: nulls }: SelectOptions): SelectionOptions {
  const pairs = (flag: string, texts: readonly string[]) =>
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1 || (flag === "--rename" && at === text.length - 1))
        throw new UsageError(`${flag} requires COLUMN=${flag === "--null" ? "VALUE" : "NAME"}, got ${JSON.stringify(text)}`);
      return [text.slice(0, at), text.slice(at + 1)] as const;
    });
  return {
    ...(without && { without }),
    ...(only && { only }),
    ...(rename && { rename: Object.fromEntries(pairs("--rename", rename)) }),
    ...(nulls && { null: Object.fromEntries(pairs("--null", nulls).map(([name, text]) => [name, nullOf(text)])) }),
  };
}

/** Parses a number, true or false. Whole numbers of 16 to 20 digits become bigints. Any other value is a text. */
function nullOf(text: string): number | bigint | boolean | string {
  if (/^-?\d{16,20}$/.test(text)) return BigInt(text);
  const number = Number(text);
  if (/^[-+.\dE]+$/i.test(text) && Number.isFinite(number)) return number;
  return text === "true" || text === "false" ? text === "true" : text;
}

/** Returns one line per damaged part of the files that could not be read, but at most 20 lines. Returns an empty text if everything was read. */
export function lossesText(losses: readonly SourceLoss[] | undefined): string {
  if (losses === undefined || losses.length === 0) return "";
  const lines = losses.slice(0, MAX_SHOWN).map(({ code, reason }) => `  ${code}: ${escapeText(reason)}\n`);
  return `Not read:\n${lines.join("")}${losses.length > MAX_SHOWN ? `  … and ${countText(losses.length - MAX_SHOWN, "more", "more")}\n` : ""}`;
}

/** The maximum number of losses to list. */
const MAX_SHOWN = 20;

/** The formats that commands read, for the help texts. */
export const SOURCES =
  "TFDS, Minari, D4RL, LeRobot, robot HDF5, Parquet, JSONL, CSV, NPZ, Zarr, MCAP, TF-Agents TFRecord, a recording, a journal or a snapshot";

/**
 * Opens the dataset, runs `use` and closes the dataset again.
 * @throws UsageError if an option is invalid or is set twice
 * @throws the errors of `openRlds` and `use`
 */
export async function withDataset<T>(path: string, options: OpenOptions, { signal }: Host, use: (reader: RldsReader) => Promise<T>): Promise<T> {
  const { split, open = [], mode, topics, rate } = options;
  const pairs = open.map(optionOf);
  const names = pairs.map(([name]) => name);
  const duplicate = names.find((name, i) => names.indexOf(name) < i);
  if (duplicate !== undefined) throw new UsageError(`${duplicate} is set twice by --open. Pass it once`);
  const clash = Object.entries({ topics, rate }).find(([name, value]) => value !== undefined && names.includes(name))?.[0];
  if (clash !== undefined) throw new UsageError(`${clash} is set twice, by --open and by --${clash}. Pass it once`);
  const mcap = { ...(topics !== undefined && { topics: await topicsIn(topics) }), ...(rate !== undefined && { rate }) };
  const selected = { ...Object.fromEntries(pairs), ...mcap, ...selectionOf(options), ...(mode === "salvage" && { salvage: true }) };
  const reader = await openRlds(path, { ...selected, signal, ...(split !== undefined && { split }) }).catch((error) => {
    // The path is always a string, so a TypeError can only be about an option.
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error;
  });
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

/** Reads the JSON file with the mapping of MCAP topics. @throws UsageError if the file is missing or is not JSON */
async function topicsIn(path: string): Promise<{ readonly [leaf: string]: string }> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as { readonly [leaf: string]: string };
  } catch (cause) {
    throw new UsageError(
      `--topics requires a file with JSON such as {"observation/state": "/joint_states", "action": "/command"}: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

/**
 * Parses a value of `--open`, such as `maxEpisodeSteps=1000`. If the part after the equals sign is not JSON, it is used as a string. @throws UsageError if the
 * value does not have the form OPTION=VALUE
 */
function optionOf(text: string): [name: string, value: unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--open requires OPTION=VALUE, got ${JSON.stringify(text)}`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value];
  }
}

/** Returns the episodes of a reader. Faults are handled as `mode` requires. Ctrl-C can stop the iteration between two episodes. */
export function importFrom(reader: RldsReader, { mode }: ModeOption, { signal }: Host): ImportedRlds {
  const { stepSpec, metadataSpec } = reader;
  return importRlds(
    { stepSpec, metadataSpec, [Symbol.asyncIterator]: () => withYields(reader, signal) },
    { mode: mode === "salvage" ? "repair" : mode, signal },
  );
}

/**
 * Returns one line per kind of fault with the number of faults and up to three places, and one line each for the repairs and for the dropped episodes and
 * steps. Returns an empty text if there were none.
 */
export function reportText(report: ImportReport): string {
  const faults = Object.entries(report.faults).filter(([, { count }]) => count > 0);
  const lines = faults.map(
    ([fault, { count, places }]) => `  ${splitCamelCase(fault)}: ${count} (${places.slice(0, 3).map(placeText).join("; ")}${count > 3 ? "; …" : ""})`,
  );
  const repairs = Object.entries(report.repaired).filter(([, { count }]) => count > 0);
  if (repairs.length > 0) lines.push(`  repaired: ${repairs.map(([repair, { count }]) => `${count} ${splitCamelCase(repair)}`).join(", ")}`);
  const { episodes, steps } = report.dropped;
  if (episodes.count + steps > 0) lines.push(`  dropped: ${episodes.count} episodes with a total of ${steps} steps`);
  return lines.map((line) => `${line}\n`).join("");
}

/** Converts a name such as `lastsInMidEpisode` to `lasts in mid episode`. */
function splitCamelCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function placeText({ episode, step, path }: { readonly episode?: number; readonly step?: number; readonly path?: string }): string {
  const parts = [episode === undefined ? "" : `episode ${episode}`, step === undefined ? "" : `step ${step}`, path === undefined ? "" : escapeText(path)];
  return parts.filter((part) => part !== "").join(", ");
}

/** The time in milliseconds between two pauses in which signals such as Ctrl-C are handled. */
const YIELD_MS = 50;

/**
 * Iterates over values and yields to the event loop from time to time. Without these pauses, Ctrl-C would have no effect before the end of a file.
 * @throws the signal's reason if the signal aborts
 */
export async function* withYields<T>(iterable: AsyncIterable<T> | Iterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  let next = performance.now() + YIELD_MS;
  for await (const value of iterable) {
    yield value;
    if (performance.now() < next) continue;
    await turn();
    signal.throwIfAborted();
    next = performance.now() + YIELD_MS;
  }
}
