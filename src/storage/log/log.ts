/**
 * A log: groups of sections, one after the other, in segments of a directory. A group is applied whole or not at all. What was flushed is there when the
 * directory is opened again, whatever happened meanwhile; of what came later, the first groups, up to some one.
 */

import { mustBe, ReplayError } from "../../base/error.ts";
import { COMMIT, DROP, isOwn, SEGMENT } from "../../base/kinds.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { ioError, reasonOf, withIoErrors } from "../../files/io-errors.ts";
import { randomId } from "../../files/random-id.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import { numberBytes } from "../format/section.ts";
import { DelayedCall, type Durability } from "./durability.ts";
import { type LogOptions, resolveLogOptions } from "./log-options.ts";
import { OlderSegments, type Segment } from "./older-segments.ts";
import { flushLogs, registerLog } from "./open-logs.ts";
import { recover, type ScanResult } from "./read-directory.ts";
import { ReadOnlyDirectory, withReadOnlyDirectory } from "./read-only-directory.ts";
import { readSections, type UnsealedSegment, type Visit } from "./sections.ts";
import { FORMAT, headBytes } from "./segment-head.ts";
import { FULL_BYTES, type Mark, SegmentWriter } from "./segment-writer.ts";
import type { LogEnd } from "./successor.ts";

export type { LogOptions, Segment, Visit };

const NOTHING = new Uint8Array(0);

/** Where a group begins. */
export interface GroupMark {
  readonly segment: number;
  readonly group: number;
  readonly at: Mark;
}

/** For the package's own modules: where a log goes on that was opened and not written to. */
export let endOf: (log: Log) => LogEnd;

export class Log {
  static {
    endOf = (log) => ({ run: log.#run, group: log.#group, segment: (log.#scanResult ?? log.#pendingRepair)?.next ?? log.segment + 1 });
  }

  /** What the directory says: the option's where it is new. */
  readonly about: object;
  readonly isNew: boolean;
  /** Whether damage was cut off: what is shown is older than what was on the disk. */
  readonly salvaged: boolean;
  /** Segments that counted where damage was cut off, and were given back since: what replaced them stood behind it. */
  readonly lost: readonly number[];
  /** A new segment begins, with an empty group: its owner writes what every segment must hold. What is written is committed when it returns. */
  onSegment: (() => void) | undefined;
  /** Bytes are about to be written: the last moment to have on the disk what they tell of. */
  onWrite: (() => void) | undefined;
  /** The directory is opened again by this process: the last moment to write something. */
  onTakeover: (() => void) | undefined;
  readonly #directory: Directory;
  readonly #segmentBytes: number;
  readonly #durability: Durability;
  readonly #logger: FullLogger;
  /** What is read stands in it until it was replayed, then what is to be written. */
  readonly #memory: SectionMemory;
  /** Of the writers of this process. */
  #unregister: (() => void) | undefined;
  readonly #release: () => void;
  readonly #flushTimer = new DelayedCall(() => this.#onTime());
  readonly #run: string;
  readonly #older = new OlderSegments();
  /** What opening found, until it was replayed; then, until the first write, what has to be mended. */
  #scanResult: ScanResult | undefined;
  #pendingRepair: ScanResult | undefined;
  /** Segments before the newest that do not say that they have a next one, oldest first. */
  #unsealedSegments: readonly UnsealedSegment[] = [];
  readonly #readOnly: boolean;
  #writer: SegmentWriter | undefined;
  /** Number of the open group, and where it begins in its segment. */
  #group: number;
  #groupAt: Mark = { bytes: 0, sum: 0 };
  /** Bytes that wait when the next try to write is made. */
  #retryAt = FULL_BYTES;
  /** What failed while nobody could be told. */
  #failure: Error | undefined;
  /** Whether the logger heard that writing fails, and nothing was written since. */
  #isFailing = false;
  /** Bytes of what the owner wrote into the segment at its beginning. */
  #preamble = 0;
  #isBeginning = false;
  #isClosed = false;

  /**
   * Opens what is there, or begins anew. With `readOnly` it shows one moment, whatever its owner does in the meantime.
   * @throws ReplayError LOCKED where another process has the directory, or with `readOnly` makes and removes files all the time · CORRUPT where what is there was altered ·
   * UNSUPPORTED for another version's files · IO
   */
  static open(directory: Directory, options: LogOptions): Log {
    if (options?.readOnly !== true || directory instanceof ReadOnlyDirectory) return new Log(directory, options);
    flushLogs(directory);
    return withReadOnlyDirectory(directory, (moment) => new Log(moment, options));
  }

  private constructor(directory: Directory, options: LogOptions) {
    const { about, segmentBytes, durability, salvage, readOnly, takeOver, logger, run, module } = resolveLogOptions(options);
    this.#directory = directory;
    this.#segmentBytes = segmentBytes;
    this.#durability = durability;
    this.#logger = logger;
    this.#readOnly = readOnly;
    this.#release = withIoErrors("locking", directory, "", () => directory.lock(() => this.#handleTakeover(), takeOver));
    try {
      this.#memory = new SectionMemory(module);
      const scanResult = recover(directory, this.#memory, { salvage, logger });
      this.#scanResult = scanResult;
      this.isNew = scanResult === undefined;
      this.salvaged = scanResult?.salvaged ?? false;
      this.lost = scanResult?.lost ?? [];
      this.about = scanResult?.head.about ?? JSON.parse(JSON.stringify(about));
      this.#run = scanResult?.head.run ?? run ?? randomId();
      this.#group = scanResult?.group ?? 0;
      for (const segment of scanResult?.segments ?? []) this.#older.add(segment);
      if (!readOnly && scanResult === undefined) this.#writer = this.#createFirst();
    } catch (error) {
      this.#writer?.close();
      this.#release();
      throw error;
    }
    if (!readOnly) this.#unregister = registerLog(directory, this);
  }

  /**
   * Shows every section in order; to be exhausted before the first write. It yields after each piece of a file, so that a caller can report, stop, or let others run.
   * @param newest whether those of segments are left out, and not looked at, that were on the disk for sure because they are sealed; those of the last two never are
   * @throws ReplayError CORRUPT where what is there was altered: nothing of what was shown should be used then
   */
  *replay(visit: Visit, newest = false): Generator<{ bytes: number; of: number }, void> {
    this.#open();
    const scanResult = this.#scanResult;
    if (scanResult === undefined) return;
    const progress = readSections(this.#directory, scanResult, this.#memory, this.#logger, visit, newest);
    for (let step = progress.next(); ; step = progress.next()) {
      if (step.done === true) {
        this.#unsealedSegments = step.value;
        break;
      }
      yield step.value;
      this.#open();
    }
    this.#scanResult = undefined;
    if (!this.#readOnly) this.#pendingRepair = scanResult;
  }

  /** Adds a section to the open group. The payload is copied. */
  write(kind: number, id: number, payload: Uint8Array): void {
    const writer = this.#writable();
    if (isOwn(kind)) throw mustBe(RangeError, "kind", "a number that the log does not use itself", kind);
    writer.add(kind, id, payload);
    // A group that is larger than the buffer is written in parts. If that fails, the commit says so.
    if (writer.pendingBytes >= this.#retryAt) this.#try(() => writer.spill(), false);
  }

  /**
   * Ends the group.
   * @param now whether it is on the disk when this returns
   * @throws ReplayError IO where it was to be written and that failed: it stays in memory, and is tried again
   */
  commit(now = this.#durability === "always"): void {
    const writer = this.#writable();
    if (writer.bytes === this.#groupAt.bytes) return;
    this.#commitGroup(writer);
    if (this.#isBeginning) return;
    if (typeof this.#durability === "object") this.#flushTimer.schedule(this.#durability.everyMs);
    if (now) this.flush();
    else if (writer.pendingBytes >= this.#retryAt) this.#try(() => writer.spill());
    this.check();
    const isFull = writer.bytes >= this.#segmentBytes && writer.bytes >= 2 * this.#preamble;
    if (isFull && (this.#retryAt <= FULL_BYTES || writer.pendingBytes >= this.#retryAt)) this.#try(() => this.#roll(writer));
  }

  /** Where the open group begins, or the next one will. */
  get mark(): GroupMark {
    const { segment } = this.#writable();
    return { segment, group: this.#group, at: this.#groupAt };
  }

  /** Takes back what came since a mark, such as a group that could not be written: whether it could, since of another segment, or after a sync that failed, it cannot. */
  takeBack({ segment, group, at }: GroupMark): boolean {
    const writer = this.#writer;
    if (this.#isClosed || writer === undefined || writer.broken || writer.segment !== segment) return false;
    writer.cut(at);
    this.#group = group;
    this.#groupAt = at;
    return true;
  }

  /** Before something is done that is to be written. @throws ReplayError CLOSED · IO where nothing can be written any more · what failed while nobody could be told: once */
  check(): void {
    this.#writable();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  /** Everything that was committed is on the disk when it returns. @throws ReplayError IO where it is not */
  flush(): void {
    const writer = this.#writable();
    this.#flushTimer.cancel();
    try {
      this.#try(() => this.#sync(writer));
    } catch (error) {
      // Without a timer nothing would try again.
      if (typeof this.#durability === "object" && !this.broken) this.#flushTimer.retry(this.#durability.everyMs);
      throw error;
    }
  }

  /** Resolves when what was flushed is safe, where the directory knows that later. @throws ReplayError IO where it will never be */
  async confirm(): Promise<void> {
    try {
      await this.#directory.confirm?.();
    } catch (cause) {
      throw ioError(`confirming what was written to ${this.#directory.name} failed: ${reasonOf(cause)}`, cause);
    }
  }

  /** Tells the logger that writing failed, once until something is written. For failures that nobody waits for. */
  warn(error: Error): void {
    if (!this.#isFailing) this.#logger.warn(`${error.message}; what was done is in memory`);
    this.#isFailing = true;
  }

  /** The segment that the open group will stand in. */
  get segment(): number {
    return this.#writer?.segment ?? this.#older.segments.at(-1)?.id ?? 0;
  }

  get segments(): readonly Segment[] {
    const older = this.#older.segments.map(({ id, bytes }) => ({ id, bytes }));
    return this.#writer === undefined ? older : [...older, { id: this.#writer.segment, bytes: this.#writer.bytes }];
  }

  /** Bytes of segments that were given back, and are files yet. */
  get leaving(): number {
    return this.#older.pendingDrops.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes that were not written yet. */
  get waiting(): number {
    return this.#writer?.pendingBytes ?? 0;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Whether what opening found was replayed. */
  get isRead(): boolean {
    return this.#scanResult === undefined;
  }

  /** Whether a sync failed: nothing more is written then. */
  get broken(): boolean {
    return this.#writer?.broken ?? false;
  }

  /** Gives a segment's file back, once what was written until now is on the disk: with the next flush, or the next segment. */
  drop(id: number): void {
    this.#writable();
    this.#older.drop(id);
  }

  /** Flushes, and lets go of the directory. A group that is open is given up. @throws ReplayError IO where flushing failed */
  close(): void {
    if (this.#isClosed) return;
    try {
      if (!this.#readOnly && this.#scanResult === undefined) {
        this.#writable().cut(this.#groupAt);
        this.flush();
      }
    } finally {
      this.leave();
    }
  }

  /** Lets go of the directory as it is: what opening found is not mended, what waits is not written. */
  leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#flushTimer.cancel();
    this.#writer?.close();
    this.#unregister?.();
    this.#release();
  }

  #createFirst(): SegmentWriter {
    const writer = new SegmentWriter(this.#directory, 1, { bytes: 0, sum: 0 }, this.#memory);
    this.#head(writer);
    // So that a directory that cannot be written to is known at once.
    writer.drain();
    return writer;
  }

  /** When it is first written to: goes on at the end of what is there, or after damage in a new segment; what is no part of it goes. */
  #repair(scanResult: ScanResult): void {
    const { salvaged, next: nextSegment, remove } = scanResult;
    const { id, ...written } = this.#older.segments.at(-1) as Segment & Mark;
    const writer = new SegmentWriter(this.#directory, id, written, this.#memory);
    try {
      let following = writer;
      for (const { id, mark: written, group } of [...this.#unsealedSegments].reverse()) {
        const previous = new SegmentWriter(this.#directory, id, written, this.#memory);
        following.follow(previous, group);
        following = previous;
      }
      if (!salvaged) for (const file of remove) withIoErrors("removing", this.#directory, file, () => this.#directory.remove(file));
    } catch (error) {
      writer.close();
      throw error;
    }
    this.#groupAt = written;
    this.#writer = writer;
    this.#pendingRepair = undefined;
    if (!salvaged) {
      this.#older.pop();
      return;
    }
    try {
      this.#roll(writer, nextSegment);
      this.#writer.sync();
      for (const file of remove) withIoErrors("removing", this.#directory, file, () => this.#directory.remove(file));
    } catch (error) {
      this.#writer.close();
      this.#writer = undefined;
      this.#pendingRepair = scanResult;
      throw error;
    }
  }

  #head(writer: SegmentWriter): void {
    const { segment } = writer;
    writer.add(SEGMENT, 0, headBytes({ format: FORMAT, run: this.#run, segment, group: this.#group, ...this.#older.inHead, about: this.about }));
    this.#groupAt = writer.mark;
  }

  #commitGroup(writer: SegmentWriter): void {
    writer.add(COMMIT, 0, numberBytes(this.#group));
    this.#group++;
    this.#groupAt = writer.mark;
  }

  /** Ends a segment that is full, and begins the next one. Where that fails nothing is changed, and the segment goes on. */
  #roll(writer: SegmentWriter, segment = writer.segment + 1): void {
    if (this.#older.pendingDrops.length > 0) this.#sync(writer);
    else writer.drain();
    this.#older.add({ id: writer.segment, ...writer.mark });
    const next = writer.next(segment, this.#group);
    this.#writer = next;
    this.#head(next);
    this.#isBeginning = true;
    try {
      this.onSegment?.();
      this.commit();
    } finally {
      // Nothing, where it was committed.
      next.cut(this.#groupAt);
      this.#isBeginning = false;
    }
    this.#preamble = next.bytes;
  }

  /** Has everything on the disk; then the segments that were given back may go, which the log says first. */
  #sync(writer: SegmentWriter): void {
    const [mark, group] = [this.#groupAt, this.#group];
    // A group that is open would be ended.
    const dropping = writer.bytes === mark.bytes ? this.#older.pendingDrops : [];
    if (dropping.length > 0) {
      for (const { id } of dropping) writer.add(DROP, id, NOTHING);
      this.#commitGroup(writer);
    }
    try {
      writer.sync();
    } catch (error) {
      if (dropping.length > 0) {
        writer.cut(mark);
        this.#group = group;
        this.#groupAt = mark;
      }
      throw error;
    }
    if (dropping.length > 0) this.#older.remove(this.#directory, this.#logger);
  }

  /** Tries to write: after a failure not before as much more waits. @param now whether a failure is thrown at once, or by the next commit */
  #try(write: () => void, now = true): void {
    try {
      this.onWrite?.();
      write();
      this.#retryAt = FULL_BYTES;
      this.#failure = undefined;
      if (this.#isFailing) this.#logger.info(`${this.#directory.name} is written to again`);
      this.#isFailing = false;
    } catch (error) {
      this.#retryAt = (this.#writer?.pendingBytes ?? 0) + FULL_BYTES;
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
      this.warn(this.#failure);
    }
  }

  #handleTakeover(): void {
    try {
      this.onTakeover?.();
      this.close();
    } catch (error) {
      this.#logger.warn(`${this.#directory.name} was opened again, and what was not flushed is lost: ${(error as Error).message}`);
    }
  }

  #open(): void {
    if (this.#isClosed) throw new ReplayError("CLOSED", `the log in ${this.#directory.name} was closed, or this process has opened it again`);
  }

  #writable(): SegmentWriter {
    this.#open();
    if (this.#readOnly) throw new ReplayError("UNSUPPORTED", `the log in ${this.#directory.name} was opened with readOnly`);
    if (this.#scanResult !== undefined)
      throw new ReplayError("OUT_OF_TURN", `the log in ${this.#directory.name} must be read to its end before it is written to`);
    if (this.#pendingRepair !== undefined) this.#repair(this.#pendingRepair);
    const writer = this.#writer as SegmentWriter;
    writer.check();
    return writer;
  }
}
