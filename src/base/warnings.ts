/**
 * Counts and logs warnings about valid calls that are probably mistakes. A Replay logs each kind once (`ignoredPriorities` once per table), and counts every
 * occurrence.
 */
import { escapeControls, mustBe, show } from "./error.ts";

/** The target of warnings: a function, or an object with a method `warn`, such as `console`. The journal reports its actions to `info`, if it exists. */
export type Logger = ((message: string) => void) | { warn(message: string): void; info?(message: string): void };

/** A logger with both methods. */
export interface FullLogger {
  info(message: string): void;
  warn(message: string): void;
}

/**
 * - `emptyTable`: a draw from a table that never had an item, although steps were appended
 * - `barrenEpisodes`: episodes that ended without an item, although their writer has rules or makes items
 * - `shortReturns`: n-step returns of fewer than n steps, because every item is shorter
 * - `lostRewards`: the reward or the terminal flag of an episode's last step, which no n-step return includes because no final observation follows the step
 * - `unseenEnds`: n-step returns of steps that contain their own next state, if endEpisode ended episodes as terminated but no leaf marks the end
 * - `nanValues`: NaN in float values: in every number and plain array, and in typed arrays as docs/reference/warnings.md describes
 * - `leftWriters`: a new writer, although unnamed writers of an earlier run were never continued
 * - `defaultPriority`: priorities above 10 in a table whose new items get priority 1, because no rule sets another
 * - `ignoredPriorities`: `beta` or new priorities for a table whose sampler and remover ignore priorities; logged once per table
 * - `unusedPrefetch`: loops with `prefetch` over a table that does not allow drawing ahead
 */
const KINDS = [
  "emptyTable",
  "barrenEpisodes",
  "shortReturns",
  "lostRewards",
  "unseenEnds",
  "nanValues",
  "defaultPriority",
  "ignoredPriorities",
  "unusedPrefetch",
  "leftWriters",
] as const;
export type WarningKind = (typeof KINDS)[number];

const noop = () => {};
const SILENT: FullLogger = { info: noop, warn: noop };

/** Returns a logger with both methods; silent if none is passed. @throws TypeError if it is neither a function nor an object with a method warn */
export function loggerOf(logger: Logger | null | undefined): FullLogger {
  if (logger === null || logger === undefined) return SILENT;
  if (typeof logger === "function") return { info: noop, warn: logger };
  if (typeof logger.warn !== "function") throw mustBe(TypeError, "logger", "a function, an object with a method warn (such as console), or null", logger);
  return { info: (message) => logger.info?.(message), warn: (message) => logger.warn(message) };
}

/** The default logger. Reads `console.warn` on each call, since tests and frameworks replace it. */
export function toConsole(message: string): void {
  console.warn(escapeControls(message));
}

export class Warnings {
  /** The number of occurrences of each kind. */
  readonly counts: { readonly [K in WarningKind]: number };
  /** The message to log after the current call ends. Logging it earlier would let the logger call the Replay in the middle of that call. */
  pending: string | undefined;
  readonly #logger: FullLogger;

  constructor(logger: Logger | null | undefined) {
    this.#logger = loggerOf(logger);
    this.counts = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as { [K in WarningKind]: number };
  }

  /** Counts warnings of a kind. Returns true for the first, which the caller logs. Allocates nothing. */
  first(kind: WarningKind, count = 1): boolean {
    const counts = this.counts as { [K in WarningKind]: number };
    counts[kind] += count;
    return counts[kind] === count;
  }

  log(message: string): void {
    this.#logger.warn(`reprise: ${message}`);
  }

  /** Logs the pending message. */
  flush(): void {
    const message = this.pending;
    this.pending = undefined;
    if (message !== undefined) this.log(message);
  }

  /** Counts a NaN in a leaf. The first NaN is logged at the end of the call. */
  noteNaN(leaf: string): void {
    if (this.first("nanValues"))
      this.pending = `${leaf} contains NaN, which training spreads to every weight. Find the first step with NaN. The usual cause is a division by 0 in the environment`;
  }

  /** Counts a warning, and logs the first of its kind. Suits only messages that are cheap to build. */
  warn(kind: WarningKind, message: string): void {
    if (this.first(kind)) this.log(message);
  }
}

/** Warns that the last step of some episode has a reward or a terminal flag that no return includes, because no final observation follows the step. */
export function warnLostRewards(warnings: Warnings, table: string): void {
  if (!warnings.first("lostRewards")) return;
  const reason = "the episode ended without final, so the step only serves as the next state of the step before it";
  const remedy = "Call endEpisode({ final, terminated }) to record the final observation";
  warnings.log(`the last step of an episode in table ${show(table)} has a reward or a terminal flag that no n-step return includes: ${reason}. ${remedy}`);
}

/**
 * Warns about priorities that a table ignores, once per table. Counts each call, and allocates nothing after the first warning.
 * @param call the call without effect
 */
export function warnIgnoredPriorities(warnings: Warnings, name: string, table: { hasWarnedIgnored: boolean }, call: "beta" | "updatePriorities"): void {
  warnings.first("ignoredPriorities");
  if (table.hasWarnedIgnored) return;
  table.hasWarnedIgnored = true;
  const effect = call === "beta" ? "all weights are equal" : "new priorities do not change draws or evictions";
  const remedy = `Use a sampler such as prioritized(0.6), or omit ${call}`;
  warnings.log(`${call} has no effect on table ${show(name)}: neither its sampler nor its remover uses priorities, so ${effect}. ${remedy}`);
}
