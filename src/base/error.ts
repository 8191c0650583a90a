/** Defines the errors: `TypeError` for the wrong kind of argument, `RangeError` for a wrong value, `ReplayError` with a code for everything else. */
import { nearestWord } from "./nearest-word.ts";
import { trimStack } from "./stack-trace.ts";
import { kindOf, typedLength } from "./typed-arrays.ts";

export type ReplayErrorCode =
  | "CLOSED"
  | "RATE_LIMITED"
  | "OUT_OF_MEMORY"
  | "CORRUPT"
  | "STALE_KEY"
  | "SPEC_MISMATCH"
  | "EMPTY"
  | "TOO_FEW"
  | "INVALID_DATA"
  | "NOT_FOUND"
  | "OUT_OF_TURN"
  | "TIMEOUT"
  | "UNSUPPORTED"
  | "KEYS_EXHAUSTED"
  | "LOCKED"
  | "IO";

/** The error of a call that fails for a reason other than the type or value of an argument. `code` is stable between versions, but the message is not. */
export class ReplayError extends Error {
  readonly code: ReplayErrorCode;
  /** The items drawn before a wait was cut off, as a short batch. Undefined otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: a batch of whatever was waited for
  declare readonly batch?: any;

  constructor(code: ReplayErrorCode, message: string) {
    super(escapeControls(message));
    this.name = "ReplayError";
    this.code = code;
    trimStack(this);
  }
}

/**
 * Returns the error for bytes that break the rules of their format.
 * @param where the subject of the message, such as the file that was read
 * @param what the fault
 */
export function corrupt(where: string, what: string): ReplayError {
  return new ReplayError("CORRUPT", `${where}: ${what}`);
}

/** Returns the code of a ReplayError or of a system error; undefined for other values. */
export function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null | undefined)?.code;
}

/**
 * Characters that control a terminal, change the direction of text, or separate lines or paragraphs in Unicode. Names in files may contain such characters.
 * Newlines and tabs are allowed, since messages use them.
 */
const CONTROLS = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu;

/** Escapes characters that would control a console, in the syntax of JSON. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${(control.codePointAt(0) as number).toString(16).padStart(4, "0")}`);
}

class Description {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns a value that stands for another value in a message, where it appears as this text without quotes. */
export function described(text: string): unknown {
  return new Description(text);
}

/** Returns a count with its noun, such as `1 column` or `2 columns`. */
export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** Returns a value as messages show it: short, with strings in quotes. */
export function show(value: unknown): string {
  if (value instanceof Description) return value.text;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  const kind = kindOf(value);
  if (kind !== undefined) return `${kind}(${typedLength(value as Uint8Array)})`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return keysOf(value);
  return String(value);
}

function keysOf(value: object): string {
  const keys = Object.keys(value).slice(0, 8).join(", ");
  return keys === "" ? "an object without keys" : `an object with keys ${keys}`;
}

/** A rule for values, optionally with a remedy. The remedy tells the user what to do, in sentences without the last full stop. */
export type Rule = string | readonly [rule: string, remedy: string];

/**
 * Returns an error of a class, or a ReplayError with a code. The message is `subject must be rule, got value. Remedy`, or for a missing value `subject is
 * required: rule. Remedy`.
 * @param words the known values; the message suggests the nearest one if it is similar
 */
export function mustBe(kind: ErrorKind | ReplayErrorCode, subject: string, rule: Rule, value: unknown, words: Iterable<string> = []): Error {
  const [form, remedy] = typeof rule === "string" ? [rule, ""] : rule;
  const what = value === undefined ? isRequired(subject, form) : `${subject} must be ${form}, got ${show(value)}`;
  const hint = didYouMean(value, words);
  const message = `${what}${remedy && `. ${remedy}`}${hint && `.${hint}`}`;
  return typeof kind === "string" ? new ReplayError(kind, message) : trimStack(new kind(escapeControls(message)));
}

/**
 * Returns the message for a missing value: `fps is required: a number`. A rule without an article becomes a clause: `fps is required, and must be finite`. A
 * rule that begins with `given` continues the sentence after that word.
 */
export function isRequired(subject: string, rule: string): string {
  const verb = subject.startsWith("the options of ") ? "are" : "is";
  const text = rule.startsWith("given") ? rule.slice("given".length) : /^(an?|one|the) /.test(rule) ? `: ${rule}` : `, and must be ${rule}`;
  return `${subject} ${verb} required${text}`;
}

/** Adds a sentence to a message. A message ends without a full stop, but a suggestion at its end has a question mark. */
export function addSentence(message: string, sentence: string): string {
  return `${message}${message.endsWith("?") ? "" : "."} ${sentence}`;
}

/** Returns ` Did you mean "seed"?` if a known word is similar, otherwise an empty string. */
export function didYouMean(value: unknown, words: Iterable<string>): string {
  const near = typeof value === "string" ? nearestWord(value, words) : undefined;
  return near === undefined ? "" : ` Did you mean ${show(near)}?`;
}

type ErrorKind = typeof TypeError | typeof RangeError;

/**
 * Returns the error for a value that is not a number, is out of range, or (without `fraction`) is not whole. The function is separate from the checks, so that
 * the checks stay short enough to be inlined.
 */
function outOfRange(subject: string, value: unknown, min: number, max: number, fraction: boolean): Error {
  const bounds = min < -MAX ? "" : max < MAX ? ` in ${min} … ${max}` : ` >= ${min}`;
  // The remainder of an infinite number is NaN, so the number has the right type, but is out of range.
  const wrongKind = typeof value !== "number" || (!fraction && value % 1);
  return mustBe(wrongKind ? TypeError : RangeError, subject, (fraction ? "a finite number" : "an integer") + bounds, value);
}

const MAX = Number.MAX_SAFE_INTEGER;

export function integer(subject: string, value: unknown, min: number, max = MAX): number {
  if (typeof value === "number" && value >= min && value <= max && Number.isInteger(value)) return value;
  throw outOfRange(subject, value, min, max, false);
}

export function finite(subject: string, value: unknown, min = -Number.MAX_VALUE, max = Number.MAX_VALUE): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw outOfRange(subject, value, min, max, true);
}

/** Returns a boolean as 0 or 1 for the core. @throws TypeError if it is not a boolean */
export function flag(subject: string, value: unknown): number {
  if (typeof value === "boolean") return Number(value);
  throw mustBe(TypeError, subject, "a boolean", value);
}

/** Returns the rule that a value must be one of the given words. */
export function oneOfRule(words: readonly string[]): string {
  return `one of ${words.map(show).join(", ")}`;
}

/** Returns the error for a value that is not a known word. The message lists the known words, and suggests the nearest one. */
export function mustBeOneOf(kind: ErrorKind | ReplayErrorCode, subject: string, words: readonly string[], value: unknown): Error {
  return mustBe(kind, subject, oneOfRule(words), value, words);
}

/** Returns the value for a word. @throws RangeError if the word is unknown; the message suggests the nearest known word */
export function oneOf<T>(subject: string, words: { readonly [word: string]: T }, word: string): T {
  if (typeof word === "string" && Object.hasOwn(words, word)) return words[word] as T;
  throw mustBeOneOf(RangeError, subject, Object.keys(words), word);
}

/** Sets of keys, cached by the string that lists them, because hot paths also check their options. */
const KEY_SETS = new Map<string, Set<string>>();

/** Calls whose options appear in messages as `the options of` the call. */
const CALLS = new Set(
  "Replay Replay.open Replay.restore Replay.plan writer transitions sample get batch endEpisode append appendColumns acceptWriter remoteWriter text packed recency".split(
    " ",
  ),
);

/**
 * Returns an options object if it has only known keys. @throws TypeError if the value is not an object, or if a key is unknown, usually because it is misspelt
 */
export function onlyKeys<T>(subject: string, value: T, keys: string): T {
  if (typeof value !== "object" || value === null)
    throw mustBe(TypeError, CALLS.has(subject) ? `the options of ${subject}` : subject, `an object with keys ${keys}`, value);
  let allowed = KEY_SETS.get(keys);
  if (allowed === undefined) {
    allowed = new Set(keys.split(", "));
    KEY_SETS.set(keys, allowed);
  }
  for (const key in value)
    if (!allowed.has(key)) throw trimStack(new TypeError(escapeControls(`${subject} has no option ${show(key)}.${didYouMean(key, allowed)} Options: ${keys}`)));
  return value;
}

const SEED_END = 2n ** 64n;

/** Checks a seed. @throws RangeError if the number does not fit into 64 unsigned bits, or is not exact · TypeError if it is not a whole number or a bigint */
export function checkSeed(seed: unknown): void {
  if (typeof seed === "bigint" ? seed >= 0n && seed < SEED_END : Number.isSafeInteger(seed) && (seed as number) >= 0) return;
  // The remainder of an infinite number is NaN, so the number has the right type, but is out of range.
  const isWrongType = typeof seed !== "bigint" && (typeof seed !== "number" || seed % 1);
  throw mustBe(isWrongType ? TypeError : RangeError, "seed", "a whole number from 0 to 2^53 - 1, or a bigint from 0n to 2n ** 64n - 1n", seed);
}
