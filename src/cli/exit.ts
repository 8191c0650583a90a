/** How the program reports failures: one line or one JSON document, and an exit code. */
import { CommanderError } from "commander";
import { ReplayError } from "../index.ts";
import { rephrase } from "./rephrase.ts";

/** Success is 0. */
export const WRONG_DATA = 1;
export const WRONG_USAGE = 2;
export const INTERRUPTED = 130;

/** Options that exclude each other or do not fit. */
export class UsageError extends Error {}

/** Ctrl-C. The message says what remains of the work. */
export class Interrupted extends Error {
  constructor(message = "nothing was written") {
    super(message);
    this.name = "Interrupted";
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof Interrupted) return INTERRUPTED;
  // A value out of range came from the command line.
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

/** `{error: {code, message, file, offset, episode, step, pushed}}`, without unknown fields. */
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
