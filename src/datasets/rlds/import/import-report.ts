/** Collects the faults that an import finds and the repairs that it makes. */
import type { Place } from "../../model/rlds-error.ts";

/** The treatment of faults. `strict` throws on the first fault, `repair` corrects episodes if possible, and `drop` leaves faulty episodes out. */
export type ImportMode = "strict" | "repair" | "drop";

/** The kinds of faults. Each fault is counted at its place in the source. */
export const FAULTS = [
  /** Episodes without steps. */
  "emptyEpisodes",
  /** Episodes whose last step does not have `is_last` set. */
  "danglingTails",
  /** Episodes whose first step does not have `is_first` set. */
  "missingFirsts",
  /** Steps that have `is_first` set but are not the first of their episode. */
  "firstsInMidEpisode",
  /** Steps that have `is_last` set but are not the last of their episode. */
  "lastsInMidEpisode",
  /** Steps that have `is_terminal` set, but not `is_last`. */
  "terminalsWithoutLast",
  /** Observations, actions, rewards and discounts that are NaN or infinite. In the metadata of a step, NaN means a missing value and is not a fault. */
  "nonFinite",
  /** Steps that do not match the dataset's spec. If the dataset has no spec, steps that do not match the first step. */
  "wrongForms",
] as const;
export type Fault = (typeof FAULTS)[number];

/** The kinds of repairs that the mode `repair` makes. */
export const REPAIRS = ["firstsSet", "lastsSet", "splits", "cuts", "zeroed"] as const;
export type Repair = (typeof REPAIRS)[number];

/** A fault or a repair, and its place in the source. */
export interface Finding extends Place {
  readonly path?: string;
  readonly value?: unknown;
}

/** The number of occurrences. `places` lists the first eight of them. */
export interface Occurrences {
  readonly count: number;
  readonly places: readonly Finding[];
}

/** The range of some values. If there are no values, the total is 0, and all other fields are NaN. If a value is NaN, all fields are NaN. */
export interface Range {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly total: number;
}

export interface Totals {
  readonly episodes: number;
  readonly steps: number;
  /** The number of transitions: all steps except final observations. */
  readonly transitions: number;
  /** The range of the number of steps per episode. */
  readonly lengths: Range;
  /** The range of the sum of the rewards per episode, without final observations. The sum is NaN if a reward is not a single number. */
  readonly returns: Range;
}

/** The report of an import. The totals describe the unchanged source. */
export interface ImportReport extends Totals {
  readonly mode: ImportMode | "inspect";
  /** Whether the dataset was read to the end. */
  readonly complete: boolean;
  readonly faults: { readonly [fault in Fault]: Occurrences };
  /** The number of episodes with at least one fault. */
  readonly faultyEpisodes: number;
  /** The number of final observations whose action and reward are all zeros, as RLDS requires. */
  readonly zeroFinalSteps: number;
  /** The final observations that are all zeros, often because they were never recorded. Every mode reports and keeps them. */
  readonly zeroFinalObservations: Occurrences;
  /** The totals of the result. */
  readonly kept: Totals;
  readonly repaired: { readonly [repair in Repair]: Occurrences };
  /** The source episodes from which nothing was kept, and the number of steps that were not kept. */
  readonly dropped: { readonly episodes: Occurrences; readonly steps: number };
}

const MAX_PLACES = 8;

/** Occurrences that are still being counted. */
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

/** A Range that grows with each value. O(1) per value */
export class RunningRange implements Range {
  min = Number.NaN;
  max = Number.NaN;
  total = 0;
  #count = 0;

  get mean(): number {
    return this.total / this.#count;
  }

  add(value: number): void {
    // Once one value is NaN, the minimum and maximum remain NaN.
    this.min = this.#count === 0 ? value : Math.min(this.min, value);
    this.max = this.#count === 0 ? value : Math.max(this.max, value);
    this.total += value;
    this.#count++;
  }

  toJSON(): Range {
    return { min: this.min, max: this.max, mean: this.mean, total: this.total };
  }
}

/** Totals that grow with each episode. */
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

/** A report that grows during an iteration. */
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

  /** @param maxPlaces the number of places kept per fault */
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
