/** The command line: its verbs, and how their answers and failures are told. */
import { Command, CommanderError } from "commander";
import type { Answer, Host } from "./answer.ts";
import { addConvert, convert } from "./convert.ts";
import { exitCodeOf, failureValue, Interrupted, lineOf } from "./failure.ts";
import { terminalHost } from "./host.ts";
import { addInspect, inspect } from "./inspect.ts";
import { json } from "./json.ts";
import { addPush, push } from "./push.ts";
import { addSample, sample } from "./sample.ts";
import { addStats, stats } from "./stats.ts";

const HELP = `
Every verb takes --json, and --help. Exit codes: 0 done, 1 the data or a file is wrong, 2 wrong usage, 130 interrupted.
`;

type Verb = (path: string, ...rest: never[]) => Promise<Answer>;

/** Runs the command line. @returns the exit code */
export async function run(args: readonly string[], version: string): Promise<number> {
  const asJson = args.includes("--json");
  const verbose = args.includes("--verbose");
  try {
    await programOf(version).parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === 0) return 0;
    if (asJson) await write(process.stdout, json(failureValue(error)));
    // Commander has told its own already.
    if (!(error instanceof CommanderError)) await write(process.stderr, lineOf(error));
    if (verbose) await write(process.stderr, String((error as Partial<Error>)?.stack ?? error));
    return code;
  }
}

function programOf(version: string): Command {
  const program = new Command("reprise").description("Datasets of reinforcement learning, and journals of replay.").version(version).addHelpText("after", HELP);
  program.exitOverride().enablePositionalOptions().showHelpAfterError("(reprise --help tells more)");
  const add = (name: string, form: (command: Command) => Command, verb: Verb) => {
    const command = form(program.command(name).exitOverride().showHelpAfterError(`(reprise ${name} --help tells more)`));
    command.option("--json", "prints one JSON document, of a failure too").option("--verbose", "shows where in the program a failure comes from");
    command.action((...given: unknown[]) => answered(command, verb, given.slice(0, -1)));
  };
  add("inspect", addInspect, inspect);
  add("convert", addConvert, convert);
  add("push", addPush, push);
  add("sample", addSample, sample);
  add("stats", addStats, stats);
  return program;
}

async function answered(command: Command, verb: Verb, given: readonly unknown[]): Promise<void> {
  const { host, release } = terminalHost();
  try {
    const { value, text } = await (verb as (...given: unknown[]) => Promise<Answer>)(...given, host satisfies Host);
    await write(process.stdout, command.opts().json ? json(value) : text);
  } catch (error) {
    if (host.signal.aborted && !(error instanceof Interrupted)) throw new Interrupted();
    throw error;
  } finally {
    release();
  }
}

/** Waits until it is written: the program ends soon after. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text.endsWith("\n") ? text : `${text}\n`, () => resolve());
  });
}
