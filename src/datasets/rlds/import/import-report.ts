/** What an import found, and what it did about it. */
import type { Place } from "../../model/rlds-error.ts";

/** What is done about faults: `strict` raises the first, `repair` mends what can be mended, `drop` leaves the episode out. */
export type ImportMode = "strict" | "repair" | "drop";

/** What no good dataset has; each is counted by its place in the source. */
export const FAULTS = [
  /** Episodes without a step. */
  "emptyEpisodes",
  /** Episodes whose last step is not is_last. */
  "danglingTails",
  /** Episodes whose first step is not is_first. */
  "missingFirsts",
  /** Steps that are is_first, and not their episode's first. */
  "firstsInMidEpisode",
  /** Steps that are is_last, and not their episode's last. */
  "lastsInMidEpisode",
  /** Steps that are is_terminal, and not is_last. */
  "terminalsWithoutLast",
  /** Numbers of observations, actions, rewards and discounts that are NaN or infinite. Metadata of steps may be: there NaN stands for what is missing. */
  "nonFinite",
  /** Steps of another form than the dataset's spec, or than its first step where it has none. */
  "wrongForms",
] as const;
export type Fault = (typeof FAULTS)[number];

/** What was done by `repair`. */
export const REPAIRS = ["firstsSet", "lastsSet", "splits", "cuts", "zeroed"] as const;
export type Repair = (typeof REPAIRS)[number];

/** A place in the source, and what is there. */
export interface Finding extends Place {
  readonly path?: string;
  readonly value?: unknown;
}

/** How often, and the first eight places. */
export interface Occurrences {
  readonly count: number;
  readonly places: readonly Finding[];
}

/** NaN but for the total where there are no values, or where rewards are not single numbers. */
export interface Range {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly total: number;
}

export interface Totals {
  readonly episodes: number;
  readonly steps: number;
  /** Steps that are no final observations. */
  readonly transitions: number;
  /** Of episodes, in steps. */
  readonly lengths: Range;
  /** Of episodes: the sum of the rewards of all steps that are no final observations. */
  readonly returns: Range;
}

/** Totals are those of the source as it is. */
export interface ImportReport extends Totals {
  readonly mode: ImportMode | "inspect";
  /** Whether the dataset was gone through to its end. */
  readonly complete: boolean;
  readonly faults: { readonly [fault in Fault]: Occurrences };
  /** Episodes with a fault or several. */
  readonly faultyEpisodes: number;
  /** Final observations whose action and reward are all zeros: what RLDS asks for. */
  readonly zeroFinalSteps: number;
  /** Final observations that are all zeros: often they were never recorded. Only reported, in every mode. */
  readonly zeroFinalObservations: Occurrences;
  /** What was given on. */
  readonly kept: Totals;
  readonly repaired: { readonly [repair in Repair]: Occurrences };
  /** Source episodes of which nothing was given on, and all steps that were not. */
  readonly dropped: { readonly episodes: Occurrences; readonly steps: number };
}

const MAX_PLACES = 8;

/** A Found that grows. */
export class Tally implements Occurrences {
  count = 0;
  readonly places: Finding[] = [];
  readonly #maxPlaces: number;

  constructor(maxPlaces = MAX_PLACES) {
    this.#maxPlaces = maxPlaces;
  }

  add(finding: Finding, count = 1): void {
    this.count += count;
    if (this.places.length < this.#maxPlaces) this.places.push(finding);
  }
}

/** A Range that grows. O(1) a value. */
export class RunningRange implements Range {
  min = Number.NaN;
  max = Number.NaN;
  total = 0;
  #count = 0;

  get mean(): number {
    return this.total / this.#count;
  }

  add(value: number): void {
    // These say NaN as soon as one value is.
    this.min = this.#count === 0 ? value : Math.min(this.min, value);
    this.max = this.#count === 0 ? value : Math.max(this.max, value);
    this.total += value;
    this.#count++;
  }

  toJSON(): Range {
    return { min: this.min, max: this.max, mean: this.mean, total: this.total };
  }
}

/** Totals that grow by episodes. */
export class RunningTotals implements Totals {
  episodes = 0;
  steps = 0;
  transitions = 0;
  readonly lengths = new RunningRange();
  readonly returns = new RunningRange();

  episode(steps: number, transitions: number, sum: number): void {
    this.episodes++;
    this.steps += steps;
    this.transitions += transitions;
    this.lengths.add(steps);
    this.returns.add(sum);
  }
}

/** A report while it is made. */
export class RunningReport extends RunningTotals implements ImportReport {
  readonly mode: ImportReport["mode"];
  complete = false;
  readonly faults: { readonly [fault in Fault]: Tally };
  faultyEpisodes = 0;
  zeroFinalSteps = 0;
  readonly zeroFinalObservations: Tally;
  readonly kept = new RunningTotals();
  readonly repaired = tallies(REPAIRS);
  readonly dropped = { episodes: new Tally(), steps: 0 };

  /** @param maxPlaces places of each fault that are kept */
  constructor(mode: ImportReport["mode"], maxPlaces = MAX_PLACES) {
    super();
    this.mode = mode;
    this.faults = tallies(FAULTS, maxPlaces);
    this.zeroFinalObservations = new Tally(maxPlaces);
  }
}

function tallies<K extends string>(names: readonly K[], maxPlaces = MAX_PLACES): { readonly [name in K]: Tally } {
  return Object.fromEntries(names.map((name) => [name, new Tally(maxPlaces)])) as unknown as { [name in K]: Tally };
}
