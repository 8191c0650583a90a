/**
 * Determines which episodes of a damaged recording are complete, and how long the intact beginnings of all other episodes are. Steps after a gap are never
 * joined to steps before the gap.
 */
import { countText } from "../../../base/error.ts";
import { SECTION_BYTES } from "../../../storage/format/section.ts";
import { END_BYTES } from "../../../storage/log/group-ends.ts";
import { type Contents, DISCARDED, type End } from "../../model/recording/contents.ts";
import type { RowLayout } from "../../model/recording/row-layout.ts";
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import type { EpisodeEntry } from "./listing.ts";

/** A run of consecutive steps of one episode. */
export interface Piece {
  readonly episode: number;
  steps: number;
  end: End | undefined;
}

/** A run of consecutive groups that were read in one segment. */
export interface ReadPart {
  readonly segment: number;
  readonly pieces: readonly Piece[];
  /** The number of the first group. */
  readonly group: number;
  /** Whether the part contains the segment's index. */
  readonly hasIndex: boolean;
}

/** A part of a segment whose bytes could not be read. */
export interface LostPart {
  readonly segment: number;
  readonly file: string;
  readonly from: number;
  readonly to: number;
  readonly at: number;
  /** The reason why the bytes could not be read. Undefined if a whole file is lost, which is reported separately. */
  readonly fault: string | undefined;
  readonly isSingle: boolean;
  /** Whether the part is the end of the newest segment, which a crash may have cut off. */
  readonly isTornTail: boolean;
  /** The number of the first group in the part. */
  readonly group: number;
  /** Whether the part begins where the segment's index should be. */
  readonly isAtIndex: boolean;
  readonly pieces?: undefined;
}

/** The episodes whose steps may be in a gap, with the numbers `first` … `last`. */
interface Hit {
  readonly lost: LostPart;
  /** The maximum number of steps in the gap. */
  readonly most: number;
  /** The index of the gap in the list of all parts. */
  readonly place: number;
  readonly first: number;
  readonly last: number;
}

/** Steps of one episode that were read from one part. `place` is the index of the part. */
interface ReadSteps {
  readonly segment: number;
  readonly place: number;
  readonly steps: number;
}

export class SalvagedEpisodes {
  readonly #parts: readonly (ReadPart | LostPart)[];
  readonly #stated: readonly (Contents | undefined)[];
  readonly #stepBytes: number;
  readonly #read = new Map<number, ReadSteps[]>();
  readonly #ends = new Map<number, End>();
  readonly #hits: Hit[] = [];

  /** @param stated the content of each segment according to the index of the next segment, if that index is readable */
  constructor(parts: readonly (ReadPart | LostPart)[], stated: readonly (Contents | undefined)[], { numberBytes, texts, frames }: RowLayout) {
    this.#parts = parts;
    this.#stated = stated;
    // If there are frames, they are separate sections, so a step is never a single section.
    this.#stepBytes = frames.length > 0 ? Number.POSITIVE_INFINITY : SECTION_BYTES + numberBytes + texts.reduce((sum, { size }) => sum + 4 * size, 0);
    this.#addParts();
    for (const contents of stated)
      for (const { episode, flags, task } of contents?.parts ?? []) if (flags !== 0 && !this.#ends.has(episode)) this.#ends.set(episode, { flags, task });
  }

  /** Returns the episodes in order, without discarded episodes. */
  list(): EpisodeEntry[] {
    return [...this.#read].flatMap(([number, read]) => {
      const { flags, task } = this.#ends.get(number) ?? { flags: 0, task: "" };
      const hit = this.#hitOf(number);
      const steps = stepsOf(read, hit?.place);
      if ((flags & DISCARDED) !== 0 || steps === 0) return [];
      return [{ number, segment: read[0]?.segment ?? 0, steps, flags: hit === undefined ? flags : 0, task, isCut: hit !== undefined }];
    });
  }

  /** Returns an error per gap, except lost files without steps, and an error per episode that a gap damaged. */
  losses(): RldsError[] {
    const gaps = this.#parts.flatMap((lost, place) =>
      lost.pieces === undefined
        ? (this.#gapError(
            lost,
            this.#hits.find((hit) => hit.place === place),
          ) ?? [])
        : [],
    );
    const episodes = [...this.#read].flatMap(([number, read]) => {
      const hit = this.#hitOf(number);
      if (hit === undefined) return [];
      const before = stepsOf(read, hit.place);
      const behind = stepsOf(read) - before;
      const place = { file: hit.lost.file, offset: hit.lost.at };
      const what = before === 0 ? "is missing its first steps" : `is cut off after ${countText(before, "step")}`;
      return [
        corruptFile(place, `recorded episode ${number} ${what}${behind === 0 ? "" : `, and ${countText(behind, "step")} after the damage cannot be read`}`),
      ];
    });
    return [...gaps, ...episodes];
  }

  #gapError({ file, from, to, at: offset, fault, isTornTail }: LostPart, hit: Hit | undefined): RldsError | undefined {
    if (fault === undefined) return hit && corruptFile({ file }, `the file cannot be read, so ${this.#lostText(hit)} cannot be recovered`);
    const tail = `${to - from} bytes after byte ${from} were not completely written, and are ignored: ${fault}`;
    const gap = `the segment is truncated or altered: ${fault}. Bytes ${from} to ${to} are lost, and ${this.#lostText(hit)} with them`;
    return corruptFile({ file, offset }, isTornTail ? tail : gap);
  }

  #lostText(hit: Hit | undefined): string {
    if (hit === undefined) return "no step";
    const { segment } = hit.lost;
    const isOnly = this.#hits.filter(({ lost }) => lost.segment === segment).length === 1;
    const stated = isOnly ? this.#stated[segment] : undefined;
    if (stated !== undefined)
      return countText(
        stated.parts.reduce((sum, { steps, episode }) => sum + steps - this.#readIn(segment, episode), 0),
        "step",
      );
    return hit.most === Number.POSITIVE_INFINITY ? "all steps that followed" : `at most ${countText(hit.most, "step")}`;
  }

  #addParts(): void {
    let next = 0;
    for (const [place, part] of this.#parts.entries()) {
      if (part.pieces === undefined) {
        const most = this.#mostLost(place, part);
        const last = this.#parts.slice(place).flatMap(({ pieces }) => pieces ?? [])[0]?.episode ?? Number.POSITIVE_INFINITY;
        if (most > 0) this.#hits.push({ lost: part, most, place, first: next, last });
        continue;
      }
      for (const { episode, steps, end } of part.pieces) {
        // Episode numbers only increase, so a smaller number was not written by a recorder and is ignored.
        if (episode < next) continue;
        const read = this.#read.get(episode) ?? [];
        this.#read.set(episode, read);
        read.push({ segment: part.segment, place, steps });
        if (end !== undefined) this.#ends.set(episode, end);
        next = episode + Number(end !== undefined);
      }
    }
  }

  /** Returns the maximum number of steps in a gap, computed from the numbers of the groups around it. */
  #mostLost(place: number, lost: LostPart): number {
    const end = this.#parts.findIndex(({ pieces }, at) => at > place && pieces !== undefined);
    if (end < 0) return lost.isTornTail ? 0 : Number.POSITIVE_INFINITY;
    const following = this.#parts[end] as ReadPart;
    let begin = place;
    while (begin > 0 && this.#parts[begin - 1]?.pieces === undefined) begin--;
    const gaps = this.#parts.slice(begin, end) as LostPart[];
    // An index is a group without steps.
    const indices = new Set(gaps.filter(({ isAtIndex }) => isAtIndex).map(({ segment }) => segment));
    if (following.hasIndex) indices.delete(following.segment);
    const groups = following.group - lost.group - indices.size;
    // A single section that is shorter than a step is the end of an episode.
    const isEnd = groups === 1 && lost.isSingle && lost.to - lost.from - END_BYTES < this.#stepBytes;
    return isEnd ? 0 : Math.max(groups, 0);
  }

  /** Returns the first gap that may contain a step of an episode. */
  #hitOf(episode: number): Hit | undefined {
    return this.#hits.find(({ first, last, lost: { segment } }) => {
      if (episode < first || episode > last) return false;
      const stated = this.#stated[segment]?.parts;
      return stated === undefined || this.#readIn(segment, episode) !== (stated.find((part) => part.episode === episode)?.steps ?? 0);
    });
  }

  /** Returns the number of an episode's steps that were read in a segment. */
  #readIn(segment: number, episode: number): number {
    return stepsOf((this.#read.get(episode) ?? []).filter((read) => read.segment === segment));
  }
}

/** Counts the steps that were read. @param place the index of the part before which steps are counted. Default: all steps are counted */
function stepsOf(read: readonly ReadSteps[], place = Number.POSITIVE_INFINITY): number {
  return read.reduce((sum, part) => sum + (part.place < place ? part.steps : 0), 0);
}
