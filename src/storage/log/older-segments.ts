/** Tracks the segments before the newest segment: their sizes and sums, and which of them are to be removed. */
import { mustBe } from "../../base/error.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { fileOf, rangesOf, type SegmentHead } from "./segment-head.ts";

export interface Segment {
  readonly id: number;
  readonly bytes: number;
}

interface SummedSegment extends Segment {
  /** The sum of the checksums of the segment's sections (`addToSum`). */
  readonly sum: number;
}

export class OlderSegments {
  readonly #segments = new Map<number, SummedSegment>();
  /** The segments to be released as soon as their replacement is on the disk. */
  #pendingDrops: Segment[] = [];

  add(segment: SummedSegment): void {
    this.#segments.set(segment.id, segment);
  }

  /** Removes and returns the last segment, so that writing can continue in it. */
  pop(): SummedSegment {
    const last = [...this.#segments.values()].at(-1) as SummedSegment;
    this.#segments.delete(last.id);
    return last;
  }

  /** The segments, oldest first. */
  get segments(): readonly SummedSegment[] {
    return [...this.#segments.values()];
  }

  /** The part of the next segment's head that identifies these segments. */
  get inHead(): Pick<SegmentHead, "kept" | "sums"> {
    return { kept: rangesOf([...this.#segments.keys()]), sums: Uint32Array.from(this.segments, ({ sum }) => sum) };
  }

  get pendingDrops(): readonly Segment[] {
    return this.#pendingDrops;
  }

  /** @throws RangeError if no segment has this id */
  drop(id: number): void {
    const segment = this.#segments.get(id);
    if (segment === undefined) throw mustBe(RangeError, "id", "the id of an earlier segment", id);
    this.#segments.delete(id);
    this.#pendingDrops.push(segment);
  }

  /** Removes the files of released segments, after the log on the disk records the release. */
  remove(directory: Directory, logger: FullLogger): void {
    const dropped = this.#pendingDrops;
    this.#pendingDrops = [];
    for (const { id } of dropped) {
      try {
        directory.remove(fileOf(id));
      } catch (error) {
        logger.warn(`${directory.name}/${fileOf(id)} could not be removed, and will be removed when the log is next opened: ${error}`);
      }
    }
  }
}
