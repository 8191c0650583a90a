/** Warnings: what is allowed and hardly meant. A Replay says each kind once, and counts it. */
import { mustBe, show, visible } from "./error.ts";

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
 * - `nanValues`: values of floats that hold NaN, as far as they were looked at: every number and plain array, and of typed arrays what docs/guide.md says
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

const nothing = () => {};
const SILENT: FullLogger = { info: nothing, warn: nothing };

/** What is said with this logger; nothing without one. @throws TypeError */
export function loggerOf(logger: Logger | null | undefined): FullLogger {
  if (logger === null || logger === undefined) return SILENT;
  if (typeof logger === "function") return { info: nothing, warn: logger };
  if (typeof logger.warn !== "function") throw mustBe(TypeError, "logger", "a function, an object with a method warn such as console, or null", logger);
  return { info: (message) => logger.info?.(message), warn: (message) => logger.warn(message) };
}

/** The logger where none was given. Asked for `console.warn` each time, since tests and frameworks replace it. */
export function toConsole(message: string): void {
  console.warn(visible(message));
}

export class Warnings {
  /** How often each kind came up. */
  readonly counts: { readonly [K in WarningKind]: number };
  /** What is to be said once the call that it is about has ended, since a logger may call back. */
  waiting: string | undefined;
  readonly #logger: FullLogger;

  constructor(logger: Logger | null | undefined) {
    this.#logger = loggerOf(logger);
    this.counts = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as { [K in WarningKind]: number };
  }

  /** Counts some of a kind; whether they are the first, to be said. Allocates nothing. */
  first(kind: WarningKind, some = 1): boolean {
    const counts = this.counts as { [K in WarningKind]: number };
    counts[kind] += some;
    return counts[kind] === some;
  }

  say(message: string): void {
    this.#logger.warn(`reprise: ${message}`);
  }

  /** Says what waits. */
  end(): void {
    const message = this.waiting;
    this.waiting = undefined;
    if (message !== undefined) this.say(message);
  }

  /** Counts a value of a leaf that holds NaN; the first is said at the end of the call. */
  sawNaN(leaf: string): void {
    if (this.first("nanValues"))
      this.waiting = `${leaf} holds NaN: what is learned from it will be NaN, too. Look for the step where it began, such as a division by 0 in the environment`;
  }

  /** Both, where a message costs nothing. */
  warn(kind: WarningKind, message: string): void {
    if (this.first(kind)) this.say(message);
  }
}

/** Warns of episodes whose last step has a reward, or says that they terminated, and in no return: they ended without what was seen next. */
export function warnOfLost(warnings: Warnings, table: string): void {
  if (!warnings.first("lostRewards")) return;
  const why = "it ended by endEpisode() or close() alone, so that the step only serves as the next state of the one before";
  const remedy = "Say endEpisode({ final, terminated }), which keeps what was seen after it";
  warnings.say(`the last step of an episode in table ${show(table)} has a reward or a terminal flag that no n-step return counts: ${why}. ${remedy}`);
}

/** Warns of priorities that a table makes no use of: once a table, and counts each call. Allocates nothing once it was said. @param call what was asked for in vain */
export function warnOfIgnored(warnings: Warnings, name: string, table: { saidIgnored: boolean }, call: "beta" | "updatePriorities"): void {
  warnings.first("ignoredPriorities");
  if (table.saidIgnored) return;
  table.saidIgnored = true;
  const effect = call === "beta" ? "its weights correct nothing" : "new priorities change no draw and evict no other item";
  const remedy = `Give it a sampler such as prioritized(0.6), or leave ${call} out`;
  warnings.say(`${call} has no effect on table ${show(name)}: neither its sampler nor its remover looks at priorities, so ${effect}. ${remedy}`);
}
