/**
 * Implements a log: a sequence of groups of sections, stored in segments of a directory. Groups are atomic. After a crash, all flushed groups still exist,
 * followed by a prefix of the later groups.
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
import { type OnScan, recover, type ScanResult } from "./read-directory.ts";
import { ReadOnlyDirectory, withReadOnlyDirectory } from "./read-only-directory.ts";
import { readSections, type UnsealedSegment, type Visit } from "./sections.ts";
import { FORMAT, headBytes } from "./segment-head.ts";
import { FULL_BYTES, type GroupMark, type Mark, SegmentWriter } from "./segment-writer.ts";
import type { LogEnd } from "./successor.ts";

export type { LogOptions, Segment, Visit };

const NOTHING = new Uint8Array(0);

/** Returns the end of a log that was opened but not written. Only the package's own modules use it. */
export let endOf: (log: Log) => LogEnd;
/**
 * Opens a log like `Log.open` without `readOnly`. Calls `onScan` for each section of the newest segment while the segment is checked. Only the package's own
 * modules use it.
 */
export let openScanning: (directory: Directory, options: LogOptions, onScan: OnScan) => Log;

export class Log {
  static {
    openScanning = (directory, options, onScan) => new Log(directory, options, onScan);
    endOf = (log) => ({ run: log.#run, group: log.#group, segment: (log.#scanResult ?? log.#pendingRepair)?.next ?? log.segment + 1 });
  }

  /** The manifest of the directory. For a new directory, it is the value of the option `about`. */
  readonly about: object;
  readonly isNew: boolean;
  /** Whether damage was cut off, so that the contents are older than the data that was on the disk. */
  readonly salvaged: boolean;
  /**
   * The segments that still belonged to the log at the damaged position, and were released later. Their records had been written again after that position, so
   * they are lost.
   */
  readonly lost: readonly number[];
  /** A function of the owner, called when a new segment begins. It writes the sections that every segment must contain, which are then committed. */
  onSegment: (() => void) | undefined;
  /** A function of the owner, called before bytes are written. The call is the last chance to sync data to which the bytes refer. */
  onWrite: (() => void) | undefined;
  /** A function of the owner, called before this process opens the directory again. The call is the last chance to write. */
  onTakeover: (() => void) | undefined;
  readonly #directory: Directory;
  readonly #segmentBytes: number;
  readonly #durability: Durability;
  readonly #logger: FullLogger;
  /** Contains the sections that are read until the replay ends, and afterwards the sections to be written. */
  readonly #memory: SectionMemory;
  /** Removes this log from the open logs of this process. */
  #unregister: (() => void) | undefined;
  readonly #release: () => void;
  readonly #flushTimer = new DelayedCall(() => this.#onTime());
  readonly #run: string;
  readonly #older = new OlderSegments();
  /** The findings of opening the directory, until the replay ends. From then until the first write, the pending repair. */
  #scanResult: ScanResult | undefined;
  #pendingRepair: ScanResult | undefined;
  /** The segments before the newest segment that have no seal, oldest first. */
  #unsealedSegments: readonly UnsealedSegment[] = [];
  readonly #readOnly: boolean;
  #writer: SegmentWriter | undefined;
  /** The number of the open group, and the group's position in the segment. */
  #group: number;
  #groupAt: Mark = { bytes: 0, sum: 0 };
  /** The number of waiting bytes at which the next write is tried. */
  #retryAt = FULL_BYTES;
  /** An error that occurred without a waiting caller. */
  #failure: Error | undefined;
  /** Whether a write failure was logged, and nothing has been written since. */
  #isFailing = false;
  /** The number of bytes at the beginning of the segment: its head, and the sections that `onSegment` wrote. */
  #preamble = 0;
  #isBeginning = false;
  #isClosed = false;

  /**
   * Opens an existing log, or creates a new log. With `readOnly`, the log shows the state at one moment, even if its owner continues to write.
   * @throws ReplayError LOCKED if another process or thread has opened the directory or, with `readOnly`, constantly creates and removes files, CORRUPT if the
   * contents were altered, UNSUPPORTED if another version wrote the files, IO if a file cannot be read or written
   */
  static open(directory: Directory, options: LogOptions): Log {
    if (options?.readOnly !== true || directory instanceof ReadOnlyDirectory) return new Log(directory, options);
    flushLogs(directory);
    return withReadOnlyDirectory(directory, (moment) => new Log(moment, options));
  }

  private constructor(directory: Directory, options: LogOptions, onScan?: OnScan) {
    const { about, segmentBytes, durability, salvage, readOnly, takeOver, logger, run, module } = resolveLogOptions(options);
    this.#directory = directory;
    this.#segmentBytes = segmentBytes;
    this.#durability = durability;
    this.#logger = logger;
    this.#readOnly = readOnly;
    this.#release = withIoErrors("locking", directory, "", () => directory.lock(() => this.#handleTakeover(), takeOver));
    try {
      this.#memory = new SectionMemory(module);
      const scanResult = recover(directory, this.#memory, { salvage, logger }, onScan);
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
   * Passes every section to the visitor, in order. The caller must exhaust the iterator before the first write. The iterator yields after each piece of a file,
   * so that the caller can report progress, stop, or let other code run.
   * @param newest whether to skip sealed segments, which are certainly on the disk; the last two segments are always read
   * @throws ReplayError CORRUPT if the contents were altered; the caller must then discard the sections passed so far
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

  /** Adds a section to the open group. Copies the payload. */
  write(kind: number, id: number, payload: Uint8Array): void {
    const writer = this.#writable();
    if (isOwn(kind)) throw mustBe(RangeError, "kind", "a number that the log does not use itself", kind);
    writer.add(kind, id, payload);
    // A group larger than the buffer is written in parts. If that fails, the commit throws the error.
    if (writer.pendingBytes >= this.#retryAt) this.#try(() => writer.spill(), false);
  }

  /**
   * Ends the group.
   * @param now whether the group must be on the disk when the call returns
   * @throws ReplayError IO if the write or sync failed. The group stays in memory, and later calls try again
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

  /** The position of the open group, or of the next group. */
  get mark(): GroupMark {
    const { segment } = this.#writable();
    return { segment, group: this.#group, at: this.#groupAt };
  }

  /**
   * Removes everything after a mark, such as a group that could not be written. Returns false if the log is closed, the mark is in another segment, or a sync
   * failed.
   */
  takeBack({ segment, group, at }: GroupMark): boolean {
    const writer = this.#writer;
    if (this.#isClosed || writer === undefined || writer.broken || writer.segment !== segment) return false;
    writer.cut(at);
    this.#group = group;
    this.#groupAt = at;
    return true;
  }

  /**
   * Checks that the changes of the next call can be written.
   * @throws ReplayError CLOSED after `close`, IO if nothing can be written any more
   * @throws an earlier error, once, if no caller waited for it
   */
  check(): void {
    this.#writable();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  /** Writes everything that was committed, and returns when the data is on the disk. @throws ReplayError IO if a write or sync failed */
  flush(): void {
    const writer = this.#writable();
    this.#flushTimer.cancel();
    try {
      this.#try(() => this.#sync(writer));
    } catch (error) {
      // Without a timer, nothing would retry the write.
      if (typeof this.#durability === "object" && !this.broken) this.#flushTimer.retry(this.#durability.everyMs);
      throw error;
    }
  }

  /** Resolves when flushed data is safe. Some directories confirm that only later. @throws ReplayError IO if the data can never become safe */
  async confirm(): Promise<void> {
    try {
      await this.#directory.confirm?.();
    } catch (cause) {
      throw ioError(`confirming the data written to ${this.#directory.name} failed: ${reasonOf(cause)}`, cause);
    }
  }

  /** Logs a write failure for which no caller waits. Logs it only once until something is written again. */
  warn(error: Error): void {
    if (!this.#isFailing) this.#logger.warn(`${error.message}. The changes are kept in memory`);
    this.#isFailing = true;
  }

  /** The number of the segment that contains the open group. */
  get segment(): number {
    return this.#writer?.segment ?? this.#older.segments.at(-1)?.id ?? 0;
  }

  get segments(): readonly Segment[] {
    const older = this.#older.segments.map(({ id, bytes }) => ({ id, bytes }));
    return this.#writer === undefined ? older : [...older, { id: this.#writer.segment, bytes: this.#writer.bytes }];
  }

  /** The number of bytes of released segments whose files still exist. */
  get leaving(): number {
    return this.#older.pendingDrops.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The number of bytes that are not written yet. */
  get waiting(): number {
    return this.#writer?.pendingBytes ?? 0;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Whether the replay has ended. */
  get isRead(): boolean {
    return this.#scanResult === undefined;
  }

  /** Whether a sync failed, so that nothing more is written. */
  get broken(): boolean {
    return this.#writer?.broken ?? false;
  }

  /** Releases a segment. Its file is removed with the next flush or segment, after everything written so far is on the disk. */
  drop(id: number): void {
    this.#writable();
    this.#older.drop(id);
  }

  /** Flushes the log, discards an open group, and releases the directory. @throws ReplayError IO if the flush failed */
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

  /** Releases the directory in its current state, without repairs and without writing waiting bytes. */
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
    // The head is written now, so that opening fails if the directory cannot be written.
    writer.drain();
    return writer;
  }

  /** Prepares the first write: continues at the end of the log, or in a new segment after damage, and removes files that do not belong to the log. */
  #repair(scanResult: ScanResult): void {
    const { salvaged, next: nextSegment, remove } = scanResult;
    const { id, ...written } = this.#older.segments.at(-1) as Segment & Mark;
    const writer = new SegmentWriter(this.#directory, id, written, this.#memory);
    try {
      writer.followAll(this.#unsealedSegments);
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

  /** Ends a full segment, and begins the next segment. If the next segment cannot be created, the full segment continues. */
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
      // This call has no effect if the group was committed.
      next.cut(this.#groupAt);
      this.#isBeginning = false;
    }
    this.#preamble = next.bytes;
  }

  /** Writes everything to the disk, including records of the released segments. Then removes the files of these segments. */
  #sync(writer: SegmentWriter): void {
    const [mark, group] = [this.#groupAt, this.#group];
    // Drops cannot be written while a group is open, because their commit would end that group.
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

  /**
   * Tries to write. After a failure, `write` and `commit` try again only when `FULL_BYTES` more bytes are waiting.
   * @param now whether to throw an error immediately, instead of in the next commit
   */
  #try(write: () => void, now = true): void {
    try {
      this.onWrite?.();
      write();
      this.#retryAt = FULL_BYTES;
      this.#failure = undefined;
      if (this.#isFailing) this.#logger.info(`${this.#directory.name} can be written again`);
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
      // No caller waits for this write.
      this.#failure = error as Error;
      this.warn(this.#failure);
    }
  }

  #handleTakeover(): void {
    try {
      this.onTakeover?.();
      this.close();
    } catch (error) {
      this.#logger.warn(`${this.#directory.name} was opened again, and unflushed data is lost: ${(error as Error).message}`);
    }
  }

  #open(): void {
    if (this.#isClosed) throw new ReplayError("CLOSED", `the log in ${this.#directory.name} is closed, or this process has opened it again`);
  }

  #writable(): SegmentWriter {
    this.#open();
    if (this.#readOnly) throw new ReplayError("UNSUPPORTED", `the log in ${this.#directory.name} was opened with readOnly`);
    if (this.#scanResult !== undefined)
      throw new ReplayError("OUT_OF_TURN", `the log in ${this.#directory.name} was not read to its end. Read all of it before you write to it`);
    if (this.#pendingRepair !== undefined) this.#repair(this.#pendingRepair);
    const writer = this.#writer as SegmentWriter;
    writer.check();
    return writer;
  }
}
