/** Defines the commands of the command line, and prints their results and failures. */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { didYouMean } from "../base/error.ts";
import { repeatable } from "./arguments.ts";
import { addCheck, check } from "./check.ts";
import { addConvert, convert } from "./convert.ts";
import { edit } from "./edit/edit.ts";
import { addEdit } from "./edit/options.ts";
import { exitCodeOf, failureValue, Interrupted, lineOf } from "./exit.ts";
import { boundHeap } from "./heap.ts";
import { terminalHost } from "./host.ts";
import { addInspect, inspect } from "./inspect.ts";
import { addPush, push } from "./push.ts";
import type { Host, Result } from "./result.ts";
import { addSample, sample } from "./sample.ts";
import { addServePage, servePage } from "./serve-page.ts";
import { addStats, stats } from "./stats.ts";
import { escapeLines } from "./text.ts";

const HELP = `
Every command has --json and --help. Exit codes: 0 done, 1 the data or a file is wrong, 2 wrong usage, 130 interrupted.
`;

type Verb = (path: string, ...rest: never[]) => Promise<Result | undefined>;

/**
 * Runs the command line and prints its result or its failure.
 * @param folder the folder that contains the built program
 * @returns the exit code
 */
export async function run(args: readonly string[], version: string, folder: string): Promise<number> {
  const asJson = args.includes("--json");
  const verbose = args.includes("--verbose");
  try {
    let exitCode = 0;
    const finish = (result: Result | undefined) => {
      exitCode = result?.exitCode ?? 0;
    };
    await programOf(version, folder, finish).parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === 0) return 0;
    if (asJson) await write(process.stdout, json(failureValue(error)));
    // Commander has already printed its own errors.
    if (!(error instanceof CommanderError)) await write(process.stderr, lineOf(error));
    if (verbose) await write(process.stderr, String((error as Partial<Error>)?.stack ?? error));
    return code;
  }
}

/**
 * Returns the program with all of its commands.
 * @param finish receives the result of the command that ran, or undefined if the command printed its results itself
 */
function programOf(version: string, folder: string, finish: (result: Result | undefined) => void): Command {
  const program = new Command("reprise").description("Reads reinforcement learning datasets and replay journals.").version(version).addHelpText("after", HELP);
  program.configureOutput({ writeErr: (text) => process.stderr.write(escapeLines(text)) });
  program.exitOverride().enablePositionalOptions().showHelpAfterError("(see reprise --help)");
  const add = (name: string, configure: (command: Command) => Command, verb: Verb) => {
    const command = configure(program.command(name).exitOverride().showHelpAfterError(`(see reprise ${name} --help)`));
    command.option("--json", "print one JSON document, also for a failure").option("--verbose", "print the stack trace of a failure");
    suggestWords(command);
    refuseSecondValues(command);
    command.action(async (...args: unknown[]) => {
      boundHeap();
      finish(await execute(command, verb, args.slice(0, -1), { version, program: folder }));
    });
  };
  add("inspect", addInspect, inspect);
  add("check", addCheck, check);
  add("convert", addConvert, convert);
  add("edit", addEdit, edit);
  add("push", addPush, push);
  add("sample", addSample, sample);
  add("stats", addStats, stats);
  add("serve-page", addServePage, servePage);
  return program;
}

/** Adds the most similar choice to the error message for an invalid value of an option with choices. */
function suggestWords(command: Command): void {
  for (const option of command.options) {
    const { argChoices: words, parseArg } = option;
    if (words === undefined || parseArg === undefined) continue;
    option.argParser((value, previous) => {
      const hint = words.includes(value) ? "" : didYouMean(value, words);
      if (hint !== "") throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.${hint}`);
      return parseArg(value, previous);
    });
  }
}

/** Makes a second value of an option a usage error, unless the option may be repeated. Without this check, Commander would silently use the last value. */
function refuseSecondValues(command: Command): void {
  for (const option of command.options) {
    if (option.isBoolean() || option.parseArg === repeatable) continue;
    let first: string | undefined;
    command.on(`option:${option.name()}`, (value: string) => {
      if (first !== undefined)
        command.error(`error: option '${option.flags}' accepts only one value, got ${JSON.stringify(first)} and ${JSON.stringify(value)}. Pass it once`);
      first = value;
    });
  }
}

async function execute(command: Command, verb: Verb, args: readonly unknown[], own: Pick<Host, "version" | "program">): Promise<Result | undefined> {
  const show = ({ value, text }: Result) => write(process.stdout, command.opts().json ? json(value) : text);
  const { host, release } = terminalHost({ ...own, show });
  try {
    const result = await (verb as (...args: unknown[]) => Promise<Result | undefined>)(...args, host satisfies Host);
    if (result !== undefined) await show(result);
    return result;
  } catch (error) {
    if (host.signal.aborted && !(error instanceof Interrupted)) throw new Interrupted();
    throw error;
  } finally {
    release();
  }
}

/**
 * Writes a text with a final line break and with control characters escaped. Waits until the text is written, because the program may end immediately
 * afterwards.
 */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(escapeLines(text.endsWith("\n") ? text : `${text}\n`), () => resolve());
  });
}

function json(value: unknown): string {
  return JSON.stringify(value, jsonValue);
}

function jsonValue(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return [...(value as Float64Array)];
  return value;
}
