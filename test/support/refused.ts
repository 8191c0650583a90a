/** Asserts that calls are rejected with the right kind of error, a clear message, and no side effects. */
import { expect } from "vitest";
import { type Replay, ReplayError, type ReplayErrorCode, type Spec } from "../../src/index.ts";

type Kind = typeof TypeError | typeof RangeError | ReplayErrorCode;

/** Matches messages of JavaScript engines for values of an unexpected type. */
const ACCIDENT =
  /Cannot (read|set|add|assign|convert|delete|destructure|mix|perform|redefine|use)|is not (a function|iterable|a constructor|defined|extensible|an entry)|Invalid (array|typed array|string) |Maximum call stack|could not be cloned|Converting circular|Do not know how|cannot be converted|Reduce of empty|already running|^The "|^'|on proxy:/;

/** Checks that an error does not come from the JavaScript engine. Such errors are accidental, and name neither an argument nor a remedy. */
export function expectOurs(error: unknown): void {
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).message).not.toMatch(ACCIDENT);
}

/** Returns whether a call throws one of our errors. */
export function isRefused(call: () => unknown): boolean {
  try {
    call();
    return false;
  } catch (error) {
    expectOurs(error);
    return true;
  }
}

/** Returns the error of a call, or of the promise that it returned. */
export function errorOf(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error("the call was not refused");
}

/** Checks the class of an error (for a ReplayError, its code) and that its message matches all patterns. */
export function expectError(error: Error, kind: Kind, ...says: RegExp[]): void {
  if (typeof kind === "string") {
    expect(error, error.message).toBeInstanceOf(ReplayError);
    expect((error as ReplayError).code, error.message).toBe(kind);
  } else {
    expect(error.constructor, error.message).toBe(kind);
  }
  expectOurs(error);
  for (const said of says) expect(error.message).toMatch(said);
}

/** Returns the canonical state of a Replay as bytes. */
export function bytesOf<S extends Spec, N extends string>(replay: Replay<S, N>): Buffer {
  return Buffer.concat([...replay.snapshot()]);
}

/** Checks that the call is rejected with this error, and that the Replay is unchanged, byte for byte. */
export function expectRefused<S extends Spec, N extends string>(replay: Replay<S, N>, call: () => unknown, kind: Kind, ...says: RegExp[]): void {
  const before = bytesOf(replay);
  expectError(errorOf(call), kind, ...says);
  expect(bytesOf(replay).equals(before), "a refused call changed something").toBe(true);
}

/** Like `expectRefused`, for a call that returns a promise. */
export async function expectRejected<S extends Spec, N extends string>(
  replay: Replay<S, N>,
  call: () => Promise<unknown> | undefined,
  kind: Kind,
  ...says: RegExp[]
): Promise<void> {
  const before = bytesOf(replay);
  const error = await (async () => call())().then(
    () => new Error("the call was not refused"),
    (reason: Error) => reason,
  );
  expectError(error, kind, ...says);
  expect(bytesOf(replay).equals(before), "a refused call changed something").toBe(true);
}
