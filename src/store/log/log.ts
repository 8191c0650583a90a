/**
 * A log: groups of sections, one after the other, in segments of a directory. A group is applied whole or not at all. What was flushed is there when the
 * directory is opened again, whatever happened meanwhile; of what came later, the first groups, up to some one.
 */
import { SectionMemory } from "../../core/section-memory.ts";
import { flag, integer, mustBe, onlyKeys, ReplayError } from "../../error.ts";
import { type FullLogger, type Logger, loggerOf } from "../../warnings.ts";
import { attempt } from "../directory/attempt.ts";
import type { Directory } from "../directory/directory.ts";
import { COMMIT, DROP, isOwn, SEAL, SEGMENT } from "../format/kinds.ts";
import { numberBytes } from "../format/section.ts";
import { checkDurability, Due, type Durability, EVERY_SECOND } from "./durability.ts";
import { corrupt, faultOf, follows, type Recovered, recover } from "./scan.ts";
import { FORMAT, fileOf, headBytes, rangesOf } from "./segment-head.ts";
import { FULL_BYTES, SegmentWriter } from "./segment-writer.ts";
import { Walk } from "./walk.ts";

export interface LogOptions {
  /** The owner's, for a new directory; JSON. It never changes. */
  readonly about: object;
  /** Where a segment ends, but for the group that goes beyond. Default: 16 MiB */
  readonly segmentBytes?: number;
  /** Default: `{ everyMs: 1000 }` */
  readonly durability?: Durability;
  /** Keep what stands before damage instead of refusing it; the rest is given up. */
  readonly salvage?: boolean;
  /** Nothing is changed, not even a torn tail, and nothing locked. */
  readonly readOnly?: boolean;
  /** Told what was found and mended. Default: nobody. */
  readonly logger?: Logger | null;
  /** Another build of the core, for hosts that forbid compiling. */
  readonly module?: WebAssembly.Module;
}

export interface Segment {
  readonly id: number;
  readonly bytes: number;
}

/** Called with each section of the owner's. The payload is there until it returns. */
export type Visit = (kind: number, id: number, payload: Uint8Array, segment: number) => void;

const SEGMENT_BYTES = 1 << 24;
const NOTHING = new Uint8Array(0);

export class Log {
  /** What the directory says: the option's where it is new. */
  readonly about: object;
  readonly isNew: boolean;
  /** A new segment begins, with an empty group: its owner writes what every segment must hold. What is written is committed when it returns. */
  onSegment: (() => void) | undefined;
  /** The directory is opened again by this process: the last moment to write something. */
  onTakeover: (() => void) | undefined;
  readonly #directory: Directory;
  readonly #segmentBytes: number;
  readonly #durability: Durability;
  readonly #logger: FullLogger;
  /** What is read stands in it until it was replayed, then what is to be written. */
  readonly #memory: SectionMemory;
  readonly #release: () => void;
  readonly #due = new Due(() => this.#onTime());
  /** Segments before the newest, oldest first: their bytes. */
  readonly #older = new Map<number, number>();
  /** What opening found, until it was replayed. */
  #recovered: Recovered | undefined;
  #writer: SegmentWriter | undefined;
  /** Number of the open group, and where it begins in its segment. */
  #group: number;
  #groupAt = 0;
  /** Segments to give back as soon as what replaces them is on the disk. */
  #dropping: Segment[] = [];
  /** Bytes that wait when the next try to write is made. */
  #tryAt = FULL_BYTES;
  /** What failed while nobody could be told. */
  #failure: Error | undefined;
  /** Bytes of what the owner wrote into the segment at its beginning. */
  #preamble = 0;
  #beginning = false;
  #closed = false;

  /**
   * Opens what is there, or begins anew.
   * @throws ReplayError LOCKED where another process has the directory · CORRUPT where what is there was altered · UNSUPPORTED for another version's files · IO
   */
  static open(directory: Directory, options: LogOptions): Log {
    return new Log(directory, options);
  }

  private constructor(directory: Directory, options: LogOptions) {
    const {
      about,
      segmentBytes = SEGMENT_BYTES,
      durability = EVERY_SECOND,
      salvage = false,
      readOnly = false,
      logger: given,
      module,
    } = onlyKeys("Log", options, "about, segmentBytes, durability, salvage, readOnly, logger, module");
    this.#directory = directory;
    this.#segmentBytes = integer("segmentBytes", segmentBytes, 1, 2 ** 31);
    this.#durability = checkDurability(durability);
    const logger = loggerOf(given);
    this.#logger = logger;
    flag("salvage", salvage);
    if (typeof about !== "object" || about === null) throw mustBe(TypeError, "about", "an object", about);
    this.#release = flag("readOnly", readOnly) ? () => {} : attempt("locking", directory, "", () => directory.lock(() => this.#takenOver()));
    try {
      this.#memory = new SectionMemory(module);
      const recovered = recover(directory, this.#memory, { salvage, logger });
      this.#recovered = recovered;
      this.isNew = recovered === undefined;
      this.about = recovered?.about ?? JSON.parse(JSON.stringify(about));
      this.#group = recovered?.group ?? 0;
      for (const { id, bytes } of recovered?.segments ?? []) this.#older.set(id, bytes);
      if (!readOnly) this.#writer = recovered === undefined ? this.#first() : this.#last(recovered);
    } catch (error) {
      this.#writer?.close();
      this.#release();
      throw error;
    }
  }

  /**
   * Shows every section in order; to be exhausted before the first write. It yields after each piece of a file, so that a caller can report, stop, or let others run.
   * @throws ReplayError CORRUPT where what is there was altered: nothing of what was shown should be used then
   */
  *replay(visit: Visit): Generator<{ bytes: number; of: number }, void> {
    this.#open();
    const recovered = this.#recovered;
    if (recovered === undefined) return;
    const of = recovered.segments.reduce((sum, { bytes }) => sum + bytes, 0);
    const last = recovered.segments.at(-1) as Segment;
    let done = 0;
    let before: Walk | undefined;
    for (const { id, bytes } of recovered.segments) {
      const walk = new Walk(this.#directory, id, this.#memory, bytes);
      const { sections } = walk;
      try {
        for (let pieces = 1; walk.next(); ) {
          visit(sections.kind, sections.id, sections.payload, id);
          if (walk.pieces === pieces) continue;
          pieces = walk.pieces;
          yield { bytes: done + sections.end, of };
          this.#open();
        }
        const fault = (walk.head && follows(before, walk)) ?? (id === last.id ? walk.fault : faultOf(walk));
        if (fault !== undefined) throw corrupt(this.#directory, id, walk.faultAt ?? sections.end, fault);
        before = walk;
      } finally {
        walk.close();
      }
      done += bytes;
      yield { bytes: done, of };
      this.#open();
    }
    this.#recovered = undefined;
    if (this.#writer !== undefined && recovered.sealed) this.#begin(this.#writer);
  }

  /** Adds a section to the open group. The payload is copied. */
  write(kind: number, id: number, payload: Uint8Array): void {
    const writer = this.#writable();
    if (isOwn(kind)) throw mustBe(RangeError, "kind", "a number that the log does not use itself", kind);
    writer.add(kind, id, payload);
    // A group that is larger than the buffer is written in parts. If that fails, the commit says so.
    if (writer.waiting >= this.#tryAt) this.#try(() => writer.spill(), false);
  }

  /** Ends the group. @throws ReplayError IO where it was to be written and that failed: it stays in memory, and is tried again */
  commit(): void {
    const writer = this.#writable();
    if (writer.bytes === this.#groupAt) return;
    this.#end(writer);
    if (this.#beginning) return;
    if (typeof this.#durability === "object") this.#due.in(this.#durability.everyMs);
    if (this.#durability === "always") this.flush();
    else if (writer.waiting >= this.#tryAt) this.#try(() => writer.spill());
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    const full = writer.bytes >= this.#segmentBytes && writer.bytes >= 2 * this.#preamble;
    if (full && (this.#tryAt <= FULL_BYTES || writer.waiting >= this.#tryAt)) this.#try(() => this.#roll(writer));
  }

  /** Everything that was committed is on the disk when it returns. @throws ReplayError IO where it is not */
  flush(): void {
    const writer = this.#writable();
    this.#due.cancel();
    this.#try(() => this.#sync(writer));
  }

  /** The segment that the open group will stand in. */
  get segment(): number {
    return this.#writer?.segment ?? [...this.#older.keys()].at(-1) ?? 0;
  }

  get segments(): readonly Segment[] {
    const older = [...this.#older].map(([id, bytes]) => ({ id, bytes }));
    return this.#writer === undefined ? older : [...older, { id: this.#writer.segment, bytes: this.#writer.bytes }];
  }

  /** Bytes of segments that were given back, and are files yet. */
  get leaving(): number {
    return this.#dropping.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes that were not written yet. */
  get waiting(): number {
    return this.#writer?.waiting ?? 0;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Gives a segment's file back, once what was written until now is on the disk: with the next flush, or the next segment. */
  drop(id: number): void {
    this.#writable();
    const bytes = this.#older.get(id);
    if (bytes === undefined) throw mustBe(RangeError, "id", "the id of an earlier segment", id);
    this.#older.delete(id);
    this.#dropping.push({ id, bytes });
  }

  /** Flushes, and lets go of the directory. A group that is open is given up. @throws ReplayError IO where flushing failed */
  close(): void {
    if (this.#closed) return;
    try {
      if (this.#writer !== undefined && this.#recovered === undefined) {
        this.#writer.cut(this.#groupAt);
        this.flush();
      }
    } finally {
      this.#closed = true;
      this.#due.cancel();
      this.#writer?.close();
      this.#release();
    }
  }

  #first(): SegmentWriter {
    const writer = new SegmentWriter(this.#directory, 1, 0, this.#memory);
    this.#head(writer);
    // So that a directory that cannot be written to is known at once.
    writer.drain();
    return writer;
  }

  #last({ segments, drop, remove }: Recovered): SegmentWriter {
    const { id, bytes } = segments.at(-1) as Segment;
    this.#older.delete(id);
    const writer = new SegmentWriter(this.#directory, id, bytes, this.#memory);
    this.#groupAt = bytes;
    this.#writer = writer;
    if (drop.length > 0) {
      for (const segment of drop) writer.add(DROP, segment, NOTHING);
      this.#end(writer);
      writer.sync();
    }
    for (const file of remove) attempt("removing", this.#directory, file, () => this.#directory.remove(file));
    return writer;
  }

  #head(writer: SegmentWriter): void {
    const { segment } = writer;
    writer.add(SEGMENT, 0, headBytes({ format: FORMAT, segment, group: this.#group, kept: rangesOf([...this.#older.keys()]), about: this.about }));
    this.#groupAt = writer.bytes;
  }

  #end(writer: SegmentWriter): void {
    writer.add(COMMIT, 0, numberBytes(this.#group));
    this.#group++;
    this.#groupAt = writer.bytes;
  }

  /** Seals a segment that is full, and begins the next one. Where that fails nothing is changed, and the segment goes on. */
  #roll(writer: SegmentWriter): void {
    if (this.#dropping.length > 0) this.#sync(writer);
    const { bytes } = writer;
    writer.add(SEAL, 0, numberBytes(this.#group));
    try {
      writer.drain();
    } catch (error) {
      writer.cut(bytes);
      throw error;
    }
    this.#begin(writer);
  }

  /** Has everything on the disk; then the segments that were given back may go, which the log says first. */
  #sync(writer: SegmentWriter): void {
    const { bytes } = writer;
    const group = this.#group;
    // A group that is open would be ended.
    const dropping = bytes === this.#groupAt ? this.#dropping : [];
    if (dropping.length > 0) {
      for (const { id } of dropping) writer.add(DROP, id, NOTHING);
      this.#end(writer);
    }
    try {
      writer.sync();
    } catch (error) {
      if (writer.bytes > bytes) {
        writer.cut(bytes);
        this.#group = group;
        this.#groupAt = bytes;
      }
      throw error;
    }
    if (dropping.length === 0) return;
    this.#dropping = [];
    for (const { id } of dropping) {
      try {
        this.#directory.remove(fileOf(id));
      } catch (error) {
        this.#logger.warn(`${this.#directory.name}/${fileOf(id)} could not be removed, and will be when it is opened again: ${error}`);
      }
    }
  }

  #begin(sealed: SegmentWriter): void {
    this.#older.set(sealed.segment, sealed.bytes);
    const writer = sealed.next();
    this.#writer = writer;
    this.#head(writer);
    this.#beginning = true;
    try {
      this.onSegment?.();
      this.commit();
    } finally {
      // Nothing, where it was committed.
      writer.cut(this.#groupAt);
      this.#beginning = false;
    }
    this.#preamble = writer.bytes;
  }

  /** Tries to write: after a failure not before as much more waits. @param now whether a failure is thrown at once, or by the next commit */
  #try(write: () => void, now = true): void {
    try {
      write();
      this.#tryAt = FULL_BYTES;
      this.#failure = undefined;
    } catch (error) {
      this.#tryAt = (this.#writer?.waiting ?? 0) + FULL_BYTES;
      if (now) throw error;
      this.#failure = error as Error;
    }
  }

  #onTime(): void {
    try {
      this.flush();
    } catch (error) {
      // Nobody waits for it.
      this.#failure = error as Error;
      this.#logger.warn(this.#failure.message);
    }
  }

  #takenOver(): void {
    try {
      this.onTakeover?.();
      this.close();
    } catch (error) {
      this.#logger.warn(`${this.#directory.name} was opened again, and what was not flushed is lost: ${(error as Error).message}`);
    }
  }

  #open(): void {
    if (this.#closed) throw new ReplayError("CLOSED", `the log in ${this.#directory.name} was closed, or this process has opened it again`);
  }

  #writable(): SegmentWriter {
    this.#open();
    const writer = this.#writer;
    if (writer === undefined) throw new ReplayError("UNSUPPORTED", `the log in ${this.#directory.name} was opened with readOnly`);
    if (this.#recovered !== undefined)
      throw new ReplayError("OUT_OF_TURN", `the log in ${this.#directory.name} must be read to its end before it is written to`);
    writer.check();
    return writer;
  }
}
