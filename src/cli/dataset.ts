/** How every command opens a dataset, and the options for that. */
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
} from "../datasets/rlds/index.ts";
import { repeatable } from "./arguments.ts";
import { UsageError } from "./exit.ts";
import type { Host } from "./result.ts";
import { countText, escapeText } from "./text.ts";

export interface ModeOption {
  readonly mode: ImportMode;
}

export function addMode(command: Command): Command {
  const modes = new Option("--mode <mode>", "how to handle faulty episodes: strict stops at the first one, repair mends them, drop leaves them out");
  return command.addOption(modes.choices(["strict", "repair", "drop"]).default("strict"));
}

export interface FinalStepOption {
  readonly finalStep?: FinalStepRule;
}

const FINAL_STEP = `what the last step of every episode is: observation (the final observation alone), transition (an action of its own; its observation stands for the final one as well), \
drop (a transition without a next observation is left out), refuse (such an episode is an error); default: what the data states of each episode`;

export function addFinalStep(command: Command): Command {
  return command.addOption(new Option("--final-step <what>", FINAL_STEP).choices(["observation", "transition", "drop", "refuse"]));
}

/** What happened to last steps, one line each; empty if nothing did. */
export function finalStepsText({ repeated, dropped }: FinalStepCounts): string {
  const repeatedText = repeated === 0 ? "" : `  no final observation in ${countText(repeated, "episode")}: the last observation is repeated\n`;
  return repeatedText + (dropped === 0 ? "" : `  no final observation in ${countText(dropped, "episode")}: the last transition is left out\n`);
}

export interface OpenOptions {
  readonly split?: string;
  readonly open?: readonly string[];
}

const OPEN = "an option for the function that opens the format, such as maxEpisodeSteps=1000 for D4RL; may be repeated";

export function addOpen(command: Command): Command {
  return command.option("--open <option=value>", OPEN, repeatable);
}

/** Opens the dataset, runs `use` and closes it again. */
export async function withDataset<T>(path: string, { split, open = [] }: OpenOptions, { signal }: Host, use: (reader: RldsReader) => Promise<T>): Promise<T> {
  const pairs = open.map(optionOf);
  const names = pairs.map(([name]) => name);
  const duplicate = names.find((name, i) => names.indexOf(name) < i);
  if (duplicate !== undefined) throw new UsageError(`${duplicate} is set twice by --open. Pass it once`);
  const options = Object.fromEntries(pairs);
  const reader = await openRlds(path, { ...options, signal, ...(split !== undefined && { split }) }).catch((error) => {
    // The path is a string, so the argument of the wrong kind is an option.
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error;
  });
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

/** Parses `maxEpisodeSteps=1000`. A value that is not JSON is a string. */
function optionOf(text: string): [name: string, value: unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--open takes OPTION=VALUE, got ${JSON.stringify(text)}`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value];
  }
}

/** The checked episodes of a reader. Ctrl-C can stop the iteration between two of them. */
export function importFrom(reader: RldsReader, { mode }: ModeOption, { signal }: Host): ImportedRlds {
  const { stepSpec, metadataSpec } = reader;
  return importRlds({ stepSpec, metadataSpec, [Symbol.asyncIterator]: () => withYields(reader, signal) }, { mode, signal });
}

/** The faults and repairs of an import, one per line; empty if there were none. */
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

/** `lastsInMidEpisode` → `lasts in mid episode` */
function splitCamelCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function placeText({ episode, step, path }: { readonly episode?: number; readonly step?: number; readonly path?: string }): string {
  const parts = [episode === undefined ? "" : `episode ${episode}`, step === undefined ? "" : `step ${step}`, path === undefined ? "" : escapeText(path)];
  return parts.filter((part) => part !== "").join(", ");
}

const YIELD_MS = 50;

/** An iteration that yields to the event loop from time to time. Without it, Ctrl-C would wait for the end of a file. */
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
