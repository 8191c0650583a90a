/**
 * Writes a log that replaces another log in the same directory. The new log has one segment with one group, after all segments of the old log. Until the group
 * is complete on the disk, the old log stays valid (read-directory.ts).
 */
import { COMMIT, SEGMENT } from "../../base/kinds.ts";
import type { Directory } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import type { Section } from "../../memory/state.ts";
import { numberBytes } from "../format/section.ts";
import { FORMAT, fileOf, headBytes, segmentOf } from "./segment-head.ts";
import { FULL_BYTES, SegmentWriter } from "./segment-writer.ts";

/** The position at which a log continues. */
export interface LogEnd {
  readonly run: string;
  /** The number of the next group. */
  readonly group: number;
  /** The number of a new segment. */
  readonly segment: number;
}

export class Successor {
  readonly #directory: Directory;
  readonly #end: LogEnd;
  readonly #writer: SegmentWriter;

  /** @param end the end of the old log, after its replay @param about the new manifest */
  constructor(directory: Directory, end: LogEnd, about: object, module: WebAssembly.Module | undefined) {
    this.#directory = directory;
    this.#end = end;
    const { run, group, segment } = end;
    this.#writer = new SegmentWriter(directory, segment, { bytes: 0, sum: 0 }, new SectionMemory(module));
    this.#writer.add(SEGMENT, 0, headBytes({ format: FORMAT, run, segment, group, kept: [], sums: new Uint32Array(0), about }));
  }

  /** The number of bytes in the segment so far. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  /** Adds a section to the new log. Writes the waiting sections if there are many. @throws ReplayError IO if the write failed */
  write([kind, id, payload]: Section): void {
    this.#writer.add(kind, id, payload);
    if (this.#writer.pendingBytes >= FULL_BYTES) this.#writer.spill();
  }

  /**
   * Writes the new log to the disk, and removes the files of the old log. @throws ReplayError IO if a write or a sync failed; the directory then has either the
   * old log or the new log
   */
  async commit(): Promise<void> {
    this.#writer.add(COMMIT, 0, numberBytes(this.#end.group));
    this.#writer.sync();
    this.#writer.close();
    await this.#directory.confirm?.();
    const names = withIoErrors("listing", this.#directory, "", () => this.#directory.list());
    const old = names.filter((name) => segmentOf(name) > 0 && segmentOf(name) < this.#end.segment);
    for (const name of old.sort()) {
      try {
        this.#directory.remove(name);
      } catch {
        // The file has no valid contents, and is removed at the next write to the directory.
      }
    }
  }

  /** Removes the written segment. Never throws, because it is called after a failure, and a remaining file has no valid contents. */
  discard(): void {
    try {
      this.#writer.close();
      this.#directory.remove(fileOf(this.#end.segment));
    } catch {
      // The file is removed at the next write to the directory.
    }
  }
}
