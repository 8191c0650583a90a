/** Collects the results of a dataset check. Faults break programs that read the data, while warnings may be intended. */
import type { Place } from "../../model/rlds-error.ts";
import { FAULTS, type Fault } from "../import/import-report.ts";

/** The faults that the check adds to the faults of `inspectRlds`. */
export const CHECK_FAULTS = [
  ...FAULTS,
  /** Timestamps that do not exceed the previous one. */
  "timestampRepeats",
  /** Videos that end before the steps that refer to them. */
  "shortFilms",
  /** Videos that steps refer to, but that cannot be read. */
  "missingFilms",
  /** The parts of the files that cannot be read. */
  "unreadable",
] as const;
export type CheckFault = Fault | "timestampRepeats" | "shortFilms" | "missingFilms" | "unreadable";

export const CHECK_WARNINGS = [
  /** Intervals between timestamps that differ from the usual interval. */
  "timestampJitter",
  /** Elements of observations and actions that have the same value in all steps. */
  "constantDimensions",
  /** Rewards that have the same value in all transitions. */
  "constantRewards",
  /** Episodes with few transitions. */
  "shortEpisodes",
  /** Videos with more frames than steps refer to. */
  "longFilms",
  /** Final observations that are all zeros. */
  "zeroFinalObservations",
] as const;
export type CheckWarning = (typeof CHECK_WARNINGS)[number];

/** A fault or a warning, and its place. */
export interface CheckFinding extends Place {
  /** The path of the leaf, for example `observation/state`. */
  readonly path?: string;
  readonly value?: unknown;
  /** The description of the fault or warning, without the place: "observation/state is NaN". */
  readonly text: string;
}

/** The findings of one kind. All of them are counted, but `places` lists only the first of them. */
export interface CheckFindings {
  readonly count: number;
  readonly places: readonly CheckFinding[];
}

export interface CheckReport {
  readonly episodes: number;
  readonly steps: number;
  /** The number of transitions: all steps except final observations. */
  readonly transitions: number;
  /** Whether the dataset was read to its end. The check stops at a part that cannot be read. */
  readonly complete: boolean;
  /** Whether there are no faults. */
  readonly clean: boolean;
  readonly faults: { readonly [fault in CheckFault]: CheckFindings };
  readonly warnings: { readonly [warning in CheckWarning]: CheckFindings };
}

/** Findings of one kind. Only the places of the first findings are kept. */
class FindingList implements CheckFindings {
  count = 0;
  readonly places: CheckFinding[] = [];
}

/** A report that grows during the check. */
export class RunningCheck implements CheckReport {
  episodes = 0;
  steps = 0;
  transitions = 0;
  complete = false;
  readonly faults: { readonly [fault in CheckFault]: FindingList };
  readonly warnings: { readonly [warning in CheckWarning]: FindingList };
  readonly #maxPlaces: number;

  constructor(maxPlaces: number) {
    this.#maxPlaces = maxPlaces;
    this.faults = listsOf(CHECK_FAULTS);
    this.warnings = listsOf(CHECK_WARNINGS);
  }

  get clean(): boolean {
    return Object.values(this.faults).every(({ count }) => count === 0);
  }

  fault(kind: CheckFault, finding: CheckFinding, count = 1): void {
    this.#add(this.faults[kind], finding, count);
  }

  warn(kind: CheckWarning, finding: CheckFinding, count = 1): void {
    this.#add(this.warnings[kind], finding, count);
  }

  #add(list: FindingList, finding: CheckFinding, count: number): void {
    list.count += count;
    if (list.places.length < this.#maxPlaces) list.places.push(finding);
  }

  /** Returns the fields for `JSON.stringify`, which ignores the getters of a class. */
  toJSON(): CheckReport {
    const { episodes, steps, transitions, complete, clean, faults, warnings } = this;
    return { episodes, steps, transitions, complete, clean, faults, warnings };
  }
}

function listsOf<K extends string>(kinds: readonly K[]): { readonly [kind in K]: FindingList } {
  return Object.fromEntries(kinds.map((kind) => [kind, new FindingList()])) as unknown as { [kind in K]: FindingList };
}
