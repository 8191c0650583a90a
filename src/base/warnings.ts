/** Warnings: what is allowed and hardly meant. A Replay says each kind once, and counts it. */
import { escapeControls, mustBe, show } from "./error.ts";

/** What warnings go to: a function, or an object with a method `warn`, such as `console`. A journal tells `info`, where there is one, what it did. */
export type Logger = ((message: string) => void) | { warn(message: string): void; info?(message: string): void };

/** A logger as the package calls it. */
export interface FullLogger {
  info(message: string): void;
  warn(message: string): void;
}

/**
 * - `emptyTable`: a draw from a table that never had an item, though steps were appended
 * - `barrenEpisodes`: episodes that ended, of a writer whose rules and calls had made no item of them when the next step came
 * - `shortReturns`: n-step returns of fewer than n steps, because no item is longer
 * - `lostRewards`: n-step returns that miss the reward, or the terminal flag, of an episode's last step, behind which nothing was seen
 * - `unseenEnds`: n-step returns of steps with their own next state, of which endEpisode said that their episodes terminated, and no leaf does
 * - `nanValues`: values of floats that hold NaN, as far as they were looked at: every number and plain array, and of typed arrays what docs/reference/warnings.md says
 * - `leftWriters`: a new writer beside writers of an earlier run that have no name, and that nobody has gone on with
 * - `defaultPriority`: priorities above 10, in a table whose new items come with priority 1 because no rule says another
 * - `ignoredPriorities`: `beta`, or new priorities, of a table whose sampler and remover do not look at priorities; said once a table
 * - `unusedPrefetch`: loops with `prefetch` over a table from which nothing may be drawn ahead
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

/** The logger with both methods; silent without one. @throws TypeError */
export function loggerOf(logger: Logger | null | undefined): FullLogger {
  if (logger === null || logger === undefined) return SILENT;
  if (typeof logger === "function") return { info: noop, warn: logger };
  if (typeof logger.warn !== "function") throw mustBe(TypeError, "logger", "a function, an object with a method warn such as console, or null", logger);
  return { info: (message) => logger.info?.(message), warn: (message) => logger.warn(message) };
}

/** The logger where none was given. Asked for `console.warn` each time, since tests and frameworks replace it. */
export function toConsole(message: string): void {
  console.warn(escapeControls(message));
}

export class Warnings {
  /** How often each kind came up. */
  readonly counts: { readonly [K in WarningKind]: number };
  /** The message to log when the current call has ended, since a logger may call back. */
  pending: string | undefined;
  readonly #logger: FullLogger;

  constructor(logger: Logger | null | undefined) {
    this.#logger = loggerOf(logger);
    this.counts = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as { [K in WarningKind]: number };
  }

  /** Counts warnings of a kind; returns whether they are the first, which is logged. Allocates nothing. */
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

  /** Counts a value of a leaf that holds NaN. The first is logged at the end of the call. */
  noteNaN(leaf: string): void {
    if (this.first("nanValues"))
      this.pending = `${leaf} holds NaN: what is learned from it will be NaN, too. Look for the step where it began, such as a division by 0 in the environment`;
  }

  /** Both, where a message costs nothing. */
  warn(kind: WarningKind, message: string): void {
    if (this.first(kind)) this.log(message);
  }
}

/** Warns of episodes whose last step has a reward, or says that they terminated, and in no return: they ended without what was seen next. */
export function warnLostRewards(warnings: Warnings, table: string): void {
  if (!warnings.first("lostRewards")) return;
  const reason = "it ended by endEpisode() or close() alone, so that the step only serves as the next state of the one before";
  const remedy = "Say endEpisode({ final, terminated }), which keeps what was seen after it";
  warnings.log(`the last step of an episode in table ${show(table)} has a reward or a terminal flag that no n-step return counts: ${reason}. ${remedy}`);
}

/** Warns of priorities that a table ignores: once per table; counts each call. Allocates nothing after the first. @param call the call that has no effect */
export function warnIgnoredPriorities(warnings: Warnings, name: string, table: { hasWarnedIgnored: boolean }, call: "beta" | "updatePriorities"): void {
  warnings.first("ignoredPriorities");
  if (table.hasWarnedIgnored) return;
  table.hasWarnedIgnored = true;
  const effect = call === "beta" ? "its weights correct nothing" : "new priorities change no draw and evict no other item";
  const remedy = `Give it a sampler such as prioritized(0.6), or leave ${call} out`;
  warnings.log(`${call} has no effect on table ${show(name)}: neither its sampler nor its remover looks at priorities, so ${effect}. ${remedy}`);
}
