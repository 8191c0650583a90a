/**
 * A log in the place of another one, in the same directory: one segment behind all of the old ones, which it does not keep, with one group. Until that group is whole on the disk,
 * the old log is what the directory holds (read-directory.ts).
 */
import { COMMIT, SEGMENT } from "../../base/kinds.ts";
import type { Directory } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import type { Section } from "../../memory/state.ts";
import { numberBytes } from "../format/section.ts";
import { FORMAT, fileOf, headBytes, segmentOf } from "./segment-head.ts";
import { FULL_BYTES, SegmentWriter } from "./segment-writer.ts";

/** Where a log goes on. */
export interface LogEnd {
  readonly run: string;
  /** Number of the next group. */
  readonly group: number;
  /** Number of a new segment. */
  readonly segment: number;
}

export class Successor {
  readonly #directory: Directory;
  readonly #end: LogEnd;
  readonly #writer: SegmentWriter;

  /** @param end of the old log, which was read to its end @param about what the new one is about @throws ReplayError IO */
  constructor(directory: Directory, end: LogEnd, about: object, module: WebAssembly.Module | undefined) {
    this.#directory = directory;
    this.#end = end;
    const { run, group, segment } = end;
    this.#writer = new SegmentWriter(directory, segment, { bytes: 0, sum: 0 }, new SectionMemory(module));
    this.#writer.add(SEGMENT, 0, headBytes({ format: FORMAT, run, segment, group, kept: [], sums: new Uint32Array(0), about }));
  }

  /** Of the segment, by now. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  /** @throws ReplayError IO */
  write([kind, id, payload]: Section): void {
    this.#writer.add(kind, id, payload);
    if (this.#writer.pendingBytes >= FULL_BYTES) this.#writer.spill();
  }

  /** Has the new log on the disk, and removes the files of the old one. @throws ReplayError IO: the old log is what is there, or the new one */
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
        // It holds nothing that counts, and goes when the directory is written to.
      }
    }
  }

  /** Removes what was written. Never fails: it follows a failure, and what stays holds nothing. */
  discard(): void {
    try {
      this.#writer.close();
      this.#directory.remove(fileOf(this.#end.segment));
    } catch {
      // It goes when the directory is written to.
    }
  }
}
