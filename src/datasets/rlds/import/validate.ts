/** Validates an episode against the RLDS rules, step by step. */
import type { Rule } from "../../../base/error.ts";
import type { Fault } from "./import-report.ts";
import { FIRST, LAST, type StepFacts, TERMINAL } from "./step-checks.ts";

/** A rule that an episode breaks, and the place where it does so. */
export interface Violation {
  readonly fault: Fault;
  /** The index of the step. Undefined for an episode without steps. */
  readonly step?: number;
  /** The parts of the message `subject must be rule, got value`. */
  readonly subject: string;
  readonly rule: Rule;
  readonly value: unknown;
  /** The number of values that break the rule. */
  readonly count: number;
}

/** Validates one episode. O(1) per step. */
export class EpisodeValidator {
  #length = 0;
  #flags = 0;
  readonly #report: (violation: Violation) => void;

  constructor(report: (violation: Violation) => void) {
    this.#report = report;
  }

  #flag(fault: Fault, step: number, subject: string, position: string, expected: boolean): void {
    this.#report({ fault, step, subject, rule: `${expected} ${position}`, value: !expected, count: 1 });
  }

  step({ flags, mismatch, nonFinite }: StepFacts): void {
    const i = this.#length++;
    if (mismatch !== undefined) this.#report({ fault: "wrongForms", step: i, subject: mismatch.path, rule: mismatch.rule, value: mismatch.value, count: 1 });
    if (i === 0 && !(flags & FIRST)) this.#flag("missingFirsts", i, "is_first", "at an episode's first step", true);
    if (i > 0 && flags & FIRST) this.#flag("firstsInMidEpisode", i, "is_first", "after an episode's first step", false);
    if (i > 0 && this.#flags & LAST) this.#flag("lastsInMidEpisode", i - 1, "is_last", "before an episode's last step", false);
    if ((flags & (TERMINAL | LAST)) === TERMINAL) this.#flag("terminalsWithoutLast", i, "is_last", "if is_terminal is true", true);
    for (const { path, count, value } of nonFinite ?? []) this.#report({ fault: "nonFinite", step: i, subject: path, rule: "finite", value, count });
    this.#flags = flags;
  }

  /** Ends the episode. */
  end(): void {
    if (this.#length === 0) this.#report({ fault: "emptyEpisodes", subject: "the number of steps in an episode", rule: "at least 1", value: 0, count: 1 });
    else if (!(this.#flags & LAST)) this.#flag("danglingTails", this.#length - 1, "is_last", "at an episode's last step", true);
  }
}
