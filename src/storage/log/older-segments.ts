/** The segments before the newest: what their files have, and which of them are to go. */
import { mustBe } from "../../base/error.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { fileOf, rangesOf, type SegmentHead } from "./segment-head.ts";

export interface Segment {
  readonly id: number;
  readonly bytes: number;
}

interface Summed extends Segment {
  /** Of its sections. */
  readonly sum: number;
}

export class OlderSegments {
  readonly #kept = new Map<number, Summed>();
  /** To be given back as soon as what replaces them is on the disk. */
  #dropping: Segment[] = [];

  add(segment: Summed): void {
    this.#kept.set(segment.id, segment);
  }

  /** Takes the last one out, which is written to again. */
  pop(): Summed {
    const last = [...this.#kept.values()].at(-1) as Summed;
    this.#kept.delete(last.id);
    return last;
  }

  /** Oldest first. */
  get kept(): readonly Summed[] {
    return [...this.#kept.values()];
  }

  /** What the next segment's head says of them. */
  get inHead(): Pick<SegmentHead, "kept" | "sums"> {
    return { kept: rangesOf([...this.#kept.keys()]), sums: Uint32Array.from(this.kept, ({ sum }) => sum) };
  }

  get dropping(): readonly Segment[] {
    return this.#dropping;
  }

  /** @throws RangeError where there is none of this id */
  drop(id: number): void {
    const segment = this.#kept.get(id);
    if (segment === undefined) throw mustBe(RangeError, "id", "the id of an earlier segment", id);
    this.#kept.delete(id);
    this.#dropping.push(segment);
  }

  /** Removes the files of those that are given back, once the log says so on the disk. */
  remove(directory: Directory, logger: FullLogger): void {
    const gone = this.#dropping;
    this.#dropping = [];
    for (const { id } of gone) {
      try {
        directory.remove(fileOf(id));
      } catch (error) {
        logger.warn(`${directory.name}/${fileOf(id)} could not be removed, and will be when it is opened again: ${error}`);
      }
    }
  }
}
