/** What went wrong, so that a program can tell: `TypeError` wrong kind, `RangeError` wrong value, `ReplayError` a state, by its code. */

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
  | "KEYS_EXHAUSTED";

/** A state that refuses a call. `code` is stable, the text is not. */
export class ReplayError extends Error {
  readonly code: ReplayErrorCode;

  constructor(code: ReplayErrorCode, message: string) {
    super(message);
    this.name = "ReplayError";
    this.code = code;
  }
}

/** A value as a message shows it: short, and telling 1 from "1". */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (ArrayBuffer.isView(value)) return `${kindOf(value)}(${(value as Uint8Array).length})`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return `an object with keys ${Object.keys(value).slice(0, 8).join(", ") || "none"}`;
  return String(value);
}

/** The name of a typed array's class, also of subclasses and other realms. */
export function kindOf(value: unknown): string | undefined {
  return (value as { [Symbol.toStringTag]?: string } | null | undefined)?.[Symbol.toStringTag];
}

/** `subject must be rule, got value` */
export function mustBe(subject: string, rule: string, value: unknown): string {
  return `${subject} must be ${rule}, got ${show(value)}`;
}

/** An integer in least … most, or an error that says so. */
export function integer(subject: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): number {
  const rule = most === Number.MAX_SAFE_INTEGER ? `an integer >= ${least}` : `an integer in ${least} … ${most}`;
  if (typeof value !== "number" || (!Number.isInteger(value) && Number.isFinite(value))) throw new TypeError(mustBe(subject, rule, value));
  if (!(value >= least && value <= most)) throw new RangeError(mustBe(subject, rule, value));
  return value;
}

/** A number in least … most, or an error that says so. */
export function finite(subject: string, value: unknown, least = -Number.MAX_VALUE, most = Number.MAX_VALUE): number {
  const rule = least === -Number.MAX_VALUE ? "a finite number" : `a finite number >= ${least}`;
  if (typeof value !== "number") throw new TypeError(mustBe(subject, rule, value));
  if (!(value >= least && value <= most)) throw new RangeError(mustBe(subject, rule, value));
  return value;
}

/** One of a few words, or an error that lists them. */
export function oneOf<T extends string>(subject: string, value: unknown, words: readonly T[]): T {
  if (!words.includes(value as T)) throw new RangeError(mustBe(subject, `one of ${words.map(show).join(", ")}`, value));
  return value as T;
}

/** Refuses what an options object has and nobody reads: mostly a misspelt name. */
export function onlyKeys(subject: string, value: object, keys: readonly string[]): void {
  for (const key in value) {
    if (!keys.includes(key)) throw new TypeError(`${subject} has no option ${show(key)}; it has ${keys.join(", ")}`);
  }
}
