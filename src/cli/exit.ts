/** Reports failures of the program as one line or one JSON document, with an exit code. */
import { CommanderError } from "commander";
import { ReplayError } from "../index.ts";

/** The exit codes of failures. Success is 0. */
export const WRONG_DATA = 1;
export const WRONG_USAGE = 2;
export const INTERRUPTED = 130;

/** Reports wrong usage of the command line, such as an invalid option, or options that cannot be combined. */
export class UsageError extends Error {}

/** Reports that Ctrl-C ended the command. The message states what was written before. */
export class Interrupted extends Error {
  constructor(message = "nothing was written") {
    super(message);
    this.name = "Interrupted";
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof Interrupted) return INTERRUPTED;
  // In the command line, a RangeError means that the value of an option or argument is out of range.
  return error instanceof UsageError || error instanceof RangeError ? WRONG_USAGE : WRONG_DATA;
}

export function lineOf(error: unknown): string {
  const { message = String(error) } = (error ?? {}) as Partial<Error>;
  const code = codeOf(error);
  const lines = rephrase(message)
    .split("\n")
    .map((line) => line.trim());
  return `reprise: ${code === undefined ? "" : `${code}: `}${lines.join(" ")}`;
}

/** Returns a failure as `{error: {code, message, file, offset, episode, step, pushed}}`. Unknown fields are undefined, so JSON omits them. */
export function failureValue(error: unknown): object {
  const { message = String(error), file, offset, episode, step, pushed } = (error ?? {}) as { [key: string]: unknown };
  return { error: { code: codeOf(error), message: rephrase(String(message)), file, offset, episode, step, pushed } };
}

function codeOf(error: unknown): string | undefined {
  if (error instanceof ReplayError) return error.code;
  const exit = exitCodeOf(error);
  if (exit === WRONG_USAGE) return "USAGE";
  if (exit === INTERRUPTED) return "INTERRUPTED";
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

/** Phrases in error messages of the package that name options or functions, with the replacements for the command line. */
const PHRASES: readonly (readonly [original: string, replacement: string])[] = [
  ["overwrite: true", "--overwrite"],
  ["salvage: true", "--mode salvage"],
  ["takeOver: true", "--take-over"],
  ["Set maxTextBytes", "Set --max-text-bytes"],
  ["maxSequenceLength", "--max-length"],
  ["Use mapSteps to leave it out, or to convert it to numbers", "Leave it out with --without"],
  ["mapEpisodes can leave it out", "no option leaves it out"],
  ["Leave it out with mapEpisodes", "No option leaves it out"],
  ["Convert it with mapSteps(data, change, { stepSpec })", "Use another journal"],
  ['import it with mode "repair" or "drop"', "pass --mode repair or --mode drop"],
  ['mode: "repair" to importRlds', "--mode repair"],
  ['mode: "drop"', "--mode drop"],
  ["finalObservation", "--open finalObservation=…"],
  ["compressImage: true", "--open compressImage=true"],
  ["Omit compressImage", "Omit --open compressImage=true"],
  ["ass the option spec", "ass --open spec={…}"],
  ["columns: {", "--open columns={"],
  ["escribe it in stepSpec", "escribe it with --open stepSpec={…}"],
  ["images must be", "--image must name"],
  ["shards and shardBytes cannot", "--shards and shardBytes cannot"],
];

/** Patterns in error messages of the package that name options or functions, with replacements that name flags instead. */
const OPTION_PATTERNS: readonly (readonly [original: RegExp, replacement: string])[] = [
  [/\b[Ll]eave (it|the array|them) out (?:by|with) mapSteps/g, "Leave $1 out with --without"],
  [/bytes that maxBytes allows\. Increase maxBytes, or write Parquet/, "bytes that this format may take. Write Parquet instead"],
  [/\b(?:Increase|[Rr]aise) maxBytes/, "Pass a larger --open maxBytes=BYTES"],
  [/\bwithout: \["([^"\\]+)"\]/g, "--without $1"],
  [/\bnull: \{ "([^"\\]+)": … \}/g, "--null $1=VALUE"],
  [/\brename: \{ NAME: "([^"\\]+)" \}/g, "--rename NAME=$1"],
  [/^null\.(\S+) must be/, "--null $1=… must be"],
  [/^(without|only|rename|null) must be column names/, "--$1 must name columns"],
  [/^timestamp must be/, "--timestamp must be"],
  [/^dropEpisodes must be/, "--drop-episodes must be"],
  [/^episodes must be/, "--episodes must be"],
  [/^where\b/, "--where"],
  [/^(a path in )?dtypes\b/, "$1--cast"],
  [/^a path in swapChannels must/, "a path in --swap-channels must"],
  [/^(the sum of )?shares\b/, "$1--split-into"],
  [
    /^resampleSteps needs .*/,
    "--resample-fps needs the times of the steps, which have no leaf named timestamp. Rename it: --rename LEAF=timestamp, or pass --source-fps",
  ],
  [/\bthe option (infos=true) reads/, "--open $1 reads"],
];

/** Matches the part of a message that lists an unknown option and the known options. These names are not replaced, because `--open` takes the same names. */
const NAMES = / has no option ".*/s;

/** Rephrases a message of the package for the command line, where options are flags. */
export function rephrase(message: string): string {
  const options = NAMES.exec(message)?.[0] ?? "";
  const text = message.slice(0, message.length - options.length);
  const phrased = PHRASES.reduce((phrase, [original, replacement]) => phrase.replaceAll(original, replacement), text);
  return OPTION_PATTERNS.reduce((phrase, [original, replacement]) => phrase.replace(original, replacement), phrased) + options;
}
