/** The segments before the newest: what their files have, and which of them are to go. */
import { mustBe } from "../../base/error.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { fileOf, rangesOf, type SegmentHead } from "./segment-head.ts";

export interface Segment {
  readonly id: number;
  readonly bytes: number;
}

interface SummedSegment extends Segment {
  /** Of its sections. */
  readonly sum: number;
}

export class OlderSegments {
  readonly #segments = new Map<number, SummedSegment>();
  /** To be given back as soon as what replaces them is on the disk. */
  #pendingDrops: Segment[] = [];

  add(segment: SummedSegment): void {
    this.#segments.set(segment.id, segment);
  }

  /** Takes the last one out, which is written to again. */
  pop(): SummedSegment {
    const last = [...this.#segments.values()].at(-1) as SummedSegment;
    this.#segments.delete(last.id);
    return last;
  }

  /** Oldest first. */
  get segments(): readonly SummedSegment[] {
    return [...this.#segments.values()];
  }

  /** What the next segment's head says of them. */
  get inHead(): Pick<SegmentHead, "kept" | "sums"> {
    return { kept: rangesOf([...this.#segments.keys()]), sums: Uint32Array.from(this.segments, ({ sum }) => sum) };
  }

  get pendingDrops(): readonly Segment[] {
    return this.#pendingDrops;
  }

  /** @throws RangeError where there is none of this id */
  drop(id: number): void {
    const segment = this.#segments.get(id);
    if (segment === undefined) throw mustBe(RangeError, "id", "the id of an earlier segment", id);
    this.#segments.delete(id);
    this.#pendingDrops.push(segment);
  }

  /** Removes the files of those that are given back, once the log says so on the disk. */
  remove(directory: Directory, logger: FullLogger): void {
    const dropped = this.#pendingDrops;
    this.#pendingDrops = [];
    for (const { id } of dropped) {
      try {
        directory.remove(fileOf(id));
      } catch (error) {
        logger.warn(`${directory.name}/${fileOf(id)} could not be removed, and will be when it is opened again: ${error}`);
      }
    }
  }
}
