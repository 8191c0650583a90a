/** What one segment holds: its head, its groups, whether it is sealed, and where it stops to make sense. */
import { COMMIT, DROP, isOwn, SEAL, SEGMENT } from "../format/kinds.ts";
import { NUMBER_BYTES, numberAt, SECTION_BYTES } from "../format/section.ts";
import { headOf, type SegmentHead } from "./segment-head.ts";
import type { SegmentReader } from "./segment-reader.ts";

/** Goes through a segment's sections; what it says of groups, it says of those that have passed. */
export class Walk {
  readonly segment: number;
  readonly reader: SegmentReader;
  head: SegmentHead | undefined;
  /** Number of the next group. */
  group = 0;
  /** End of the last whole group, or of the head. */
  whole = 0;
  sealed = false;
  /** Segments that whole groups give back. */
  readonly dropped: number[] = [];
  /** Those of the group that is open. */
  #dropping: number[] = [];
  /** Whether there are sections behind the last whole group. */
  #open = false;
  fault: string | undefined;

  constructor(segment: number, reader: SegmentReader) {
    this.segment = segment;
    this.reader = reader;
  }

  /** The next section of the owner: whether there is one. */
  next(): boolean {
    if (this.head === undefined && !this.#begin()) return false;
    const { reader } = this;
    while (this.fault === undefined) {
      if (!reader.next()) {
        this.fault = reader.fault;
        return false;
      }
      if (this.sealed) return this.#fails("bytes behind the seal");
      const { kind, id } = reader.sections;
      if (!isOwn(kind)) {
        this.#open = true;
        return true;
      }
      if (kind === COMMIT) this.#commit();
      else if (kind === SEAL) this.#seal();
      else if (kind === DROP) {
        this.#dropping.push(id);
        this.#open = true;
      } else this.#fails(`a section of kind ${kind}`);
    }
    return false;
  }

  /** Goes to the end, or to the fault. */
  toEnd(): this {
    while (this.next());
    return this;
  }

  /** Where what follows makes no sense; undefined where all of it does. A group that did not end is a fault too. */
  get faultAt(): number | undefined {
    if (this.fault !== undefined) return this.reader.sections.from;
    return this.#open ? this.whole : undefined;
  }

  #begin(): boolean {
    const { reader } = this;
    if (!reader.begin() || !reader.next()) return this.#fails(reader.fault ?? "it has no head");
    const { kind, payload, end } = reader.sections;
    this.head = kind === SEGMENT ? headOf(payload, this.segment) : undefined;
    if (this.head === undefined) return this.#fails("its head is that of another segment");
    this.group = this.head.group;
    this.whole = end;
    return true;
  }

  #commit(): void {
    const { end, from, view } = this.reader.sections;
    if (end - from !== SECTION_BYTES + NUMBER_BYTES || numberAt(view, 0) !== this.group) {
      this.#fails(`not the end of group ${this.group}`);
      return;
    }
    this.group++;
    this.whole = end;
    this.dropped.push(...this.#dropping);
    this.#dropping = [];
    this.#open = false;
  }

  #seal(): void {
    const { end, from, view } = this.reader.sections;
    if (this.#open || end - from !== SECTION_BYTES + NUMBER_BYTES || numberAt(view, 0) !== this.group) {
      this.#fails(`a seal before group ${this.group}`);
      return;
    }
    this.sealed = true;
    this.whole = end;
  }

  #fails(fault: string): false {
    this.fault = fault;
    return false;
  }
}
