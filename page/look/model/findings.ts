/** Collects the faults of a dataset, each with its places, from episodes in any order. */
import type { Fault, ImportReport } from "reprise/rlds";

/** The kinds of findings of an inspection, including those that are not faults. */
export type FindingKind = Fault | "zeroFinalObservations";

/** Descriptions for users. */
export const SENTENCES: { readonly [kind in FindingKind]: string } = {
  emptyEpisodes: "Episodes without a step",
  danglingTails: "Episodes whose last step is not is_last",
  missingFirsts: "Episodes whose first step is not is_first",
  firstsInMidEpisode: "Steps that are is_first in the middle of an episode",
  lastsInMidEpisode: "Steps that are is_last in the middle of an episode",
  terminalsWithoutLast: "Steps that are is_terminal and not is_last",
  nonFinite: "Numbers that are NaN or infinite",
  wrongForms: "Steps of another form than the dataset's spec",
  zeroFinalObservations: "Last observations of zeros, which perhaps were never recorded",
};

const KINDS = Object.keys(SENTENCES) as FindingKind[];

export interface FoundPlace {
  readonly episode: number;
  readonly step?: number;
  readonly path?: string;
  /** The value as text, because it may be of any type. */
  readonly value?: string;
}

export interface FindingGroup {
  readonly kind: FindingKind;
  /** The number of occurrences. */
  readonly count: number;
  readonly places: readonly FoundPlace[];
}

/** The maximum number of places that are stored per kind. All places are counted. */
const PLACES = 500;

export class Findings {
  /** The number of episodes with at least one fault. */
  faultyEpisodes = 0;
  readonly #groups = new Map<FindingKind, { count: number; places: FoundPlace[] }>();

  /** @param report the report of only this episode @returns the number of the episode's faults */
  add(episode: number, { faults, zeroFinalObservations }: ImportReport): number {
    let sum = 0;
    for (const kind of KINDS) {
      const { count, places } = kind === "zeroFinalObservations" ? zeroFinalObservations : faults[kind];
      if (count === 0) continue;
      if (kind !== "zeroFinalObservations") sum += count;
      const group = this.#groups.get(kind) ?? { count: 0, places: [] };
      this.#groups.set(kind, group);
      group.count += count;
      for (const { step, path, value } of places) {
        if (group.places.length === PLACES) break;
        group.places.push({ episode, step, path, value: told(value) });
      }
    }
    if (sum > 0) this.faultyEpisodes++;
    return sum;
  }

  /** Returns the findings in the order of SENTENCES, with places sorted by episode and step. */
  get all(): FindingGroup[] {
    return KINDS.flatMap((kind) => {
      const group = this.#groups.get(kind);
      if (group === undefined) return [];
      return [{ kind, count: group.count, places: [...group.places].sort((a, b) => a.episode - b.episode || (a.step ?? 0) - (b.step ?? 0)) }];
    });
  }
}

function told(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === "number" || typeof value === "bigint" ? String(value) : typeof value === "string" ? JSON.stringify(value) : shown(value);
  return text.length > 80 ? `${text.slice(0, 80)} …` : text;
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
