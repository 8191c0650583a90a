/** Implements the journal of a Replay: writes the changes of its calls to a log in groups, and releases the space of obsolete records. */

import { ReplayError } from "../../base/error.ts";
import { KEPT, WRITERS } from "../../base/kinds.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Changes } from "../../memory/changes.ts";
import type { Engine } from "../../memory/engine.ts";
import type { Section } from "../../memory/state.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";
import { SessionRecords } from "../format/sessions.ts";
import { writersBytes } from "../format/writers.ts";
import { DelayedCall, type Durability, type Retain } from "../log/durability.ts";
import type { Log } from "../log/log.ts";
import type { ReplayState } from "../replay-state.ts";
import { Layouts } from "./layouts.ts";

/** The approximate number of bytes of changed records after which a group is written, unless the durability requires it earlier. */
const GROUP = 128 * 1024;
/** The minimum number of bytes of records that one share of compaction examines. */
const SHARE = 1 << 20;
/** The maximum number of additional shares of compaction per group, if one share is not enough. */
const SHARES = 1000;
/** If more bytes than this wait in the log, the log must be flushed before a group is added. Otherwise, a full disk would also fill the memory. */
const MAX_WAITING = 8 << 20;
/**
 * The time in milliseconds after which changed draw counts are written. A busy learner draws every item of its table each second, and each count takes 8 bytes.
 */
const COUNTS_MS = 1000;

export interface JournalStats {
  /** The number of bytes in the files. */
  readonly bytes: number;
  /** The number of bytes of records that are still in use. With `retain: "capacity"`, the files have at most twice as many bytes plus two segments. */
  readonly liveBytes: number;
  readonly segments: number;
}

export class Journal {
  /** The sessions of remote writers. Only the package's own modules use them. */
  readonly sessions: SessionRecords;
  readonly #replayState: ReplayState;
  readonly #engine: Engine;
  readonly #changes: Changes;
  readonly #layouts: Layouts;
  readonly #log: Log;
  readonly #durability: Durability;
  readonly #isCompacting: boolean;
  readonly #segmentBytes: number;
  readonly #logger: FullLogger;
  /** Whether the last write failed. */
  #isFailing = false;
  /** The number of changes after which a group is written. */
  readonly #max: number;
  /** The payload of each section of `#rest` that was written last, by kind and id. */
  readonly #lastWritten = new Map<string, Uint8Array>();
  /** The segment that contains all sections of `#rest`. */
  #restSegment = 0;
  /** The segment that compaction is emptying (0 for none), and the pool or table, and the row or slot in it, at which compaction continues. */
  #victim = 0;
  #structure = 0;
  #cursor = 1;
  /** Whether groups include draw counts. With manual durability they do, because the caller then chooses when a group is written. */
  readonly #countsInGroups: boolean;
  /** Whether the flush timer is slow enough to include draw counts. */
  readonly #countsInFlushes: boolean;
  readonly #flushTimer = new DelayedCall(() => this.#onTime(this.#countsInFlushes));
  /** The timer of draw counts, if flushes do not include them. */
  readonly #countsTimer = new DelayedCall(() => this.#onTime(true));
  #isBusy = false;
  #isClosed = false;
  #keptValue: Uint8Array | undefined;
  /** The encoded WRITERS section, and the options from which it was made. */
  #writers: Uint8Array | undefined;
  #encodedOptions: readonly object[] = [];

  constructor(
    replayState: ReplayState,
    changes: Changes,
    log: Log,
    options: { readonly durability: Durability; readonly retain: Retain; readonly segmentBytes: number; readonly logger: FullLogger },
    keptValue?: Uint8Array,
    sessions = new SessionRecords(),
  ) {
    this.#keptValue = keptValue;
    this.sessions = sessions;
    this.#replayState = replayState;
    this.#engine = replayState.engine;
    this.#changes = changes;
    this.#layouts = new Layouts(replayState);
    this.#log = log;
    this.#durability = options.durability;
    this.#countsInGroups = options.durability === "manual";
    this.#countsInFlushes = typeof options.durability === "object" && options.durability.everyMs >= COUNTS_MS;
    this.#isCompacting = options.retain === "capacity";
    this.#segmentBytes = options.segmentBytes;
    this.#logger = options.logger;
    const record = Math.max(64, ...changes.rowBytes, ...changes.slotBytes);
    // With retain "all", freed rows wait for their group. Therefore, the changes of each call are written as a group immediately, so that freed rows take no
    // room.
    const marksPerGroup = options.durability === "manual" ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(GROUP / record));
    this.#max = options.durability === "always" || !this.#isCompacting ? 1 : marksPerGroup;
    if (!this.#isCompacting) changes.keep();
    this.#engine.journal = () => this.#onChange();
    log.onTakeover = () => {
      this.#cancelTimers();
      this.#isClosed = true;
      this.#engine.journal = undefined;
      this.#engine.journalError = closedError;
      this.#group(true);
    };
  }

  /** The last value passed to `keep`, in this run or an earlier run. Undefined before the first call. */
  // biome-ignore lint/suspicious/noExplicitAny: the program's own value
  get kept(): any {
    return this.#keptValue && decodeTagged(this.#keptValue);
  }

  /**
   * Stores a copy of a value of the program together with the Replay, from the same moment. Such a value can be a learner's weights or the position of an
   * environment. The value replaces the previous value. When the value is on the disk, all earlier changes are also on the disk. Earlier changes may reach the
   * disk before the value. They form one group with it only with `durability: "manual"` and `retain: "capacity"`. After a crash, the disk then has both or
   * neither.
   * @param value null, booleans, numbers, bigints, strings, typed arrays, Dates, and arrays, plain objects, Maps and Sets of them
   * @throws TypeError if the value contains anything else. The error names the path
   * @throws ReplayError CLOSED if the journal was closed, or if its directory was opened again
   */
  keep(value: unknown): void {
    this.#open();
    this.#engine.begin();
    this.#keptValue = encodeTagged(value, "value");
    this.#save();
    this.#schedule();
  }

  get stats(): JournalStats {
    const { segments } = this.#log;
    return { bytes: segments.reduce((sum, segment) => sum + segment.bytes, this.#log.leaving), liveBytes: this.#liveBytes(), segments: segments.length };
  }

  /**
   * Resolves when everything so far is on the disk and would survive a crash.
   * @throws ReplayError IO if the disk cannot be written. The state in memory is unaffected, and later calls and flushes try again
   * @throws ReplayError CLOSED if the journal was closed, or if its directory was opened again
   */
  async flush(): Promise<void> {
    this.#open();
    this.#flush();
    await this.#log.confirm();
  }

  /** Flushes the journal and closes its files. The Replay is not usable afterwards. */
  close(): void {
    if (this.#isClosed) return;
    try {
      this.#flush();
    } finally {
      this.#end();
    }
  }

  /**
   * Rewrites the whole state after the existing records, and releases these records unless everything is retained. Used after salvaging.
   * @throws ReplayError IO if a write or sync failed
   */
  renew(): void {
    const changes = this.#changes;
    const old = this.#log.segments.map(({ id }) => id);
    // The rewritten records begin in a new segment.
    this.#log.flush();
    for (const id of old)
      for (let k = changes.pools.length + changes.tables.length - 1; k >= 0; k--) for (let at = 1; at !== 0; ) at = changes.collect(id, k, at, SHARE);
    this.#group(true);
    this.#log.flush();
    if (!this.#isCompacting) return;
    for (const id of old) if (this.#log.segments.some((segment) => segment.id === id)) this.#log.drop(id);
    this.#log.flush();
  }

  #end(): void {
    this.#isClosed = true;
    this.#engine.journal = undefined;
    this.#engine.journalError = undefined;
    this.#cancelTimers();
    this.#log.close();
  }

  #cancelTimers(): void {
    this.#flushTimer.cancel();
    this.#countsTimer.cancel();
  }

  #open(): void {
    if (this.#isClosed) throw closedError();
  }

  /** @param counts whether to include draw counts */
  #flush(counts = true): void {
    this.#flushTimer.cancel();
    if (counts) this.#countsTimer.cancel();
    try {
      this.#group(counts);
      this.#log.flush();
    } catch (error) {
      // The caller receives the error. Without a timer, nothing would retry the write.
      this.#tryAgain();
      throw error;
    }
    this.#clearFailure();
  }

  /** Runs after a call that changed the Replay. Errors of the write do not undo the call. */
  #onChange(): void {
    if (this.#isBusy) return;
    if (this.#changes.marks >= this.#max || this.#durability === "always") this.#save();
    this.#schedule();
  }

  /** Schedules the next flush, and the next write of draw counts if flushes do not include them. */
  #schedule(): void {
    if (typeof this.#durability === "object") this.#flushTimer.schedule(this.#durability.everyMs);
    if (!this.#countsInGroups && !this.#countsInFlushes && this.#changes.hasCounts) this.#countsTimer.schedule(COUNTS_MS);
  }

  #save(): void {
    try {
      this.#group(this.#countsInGroups);
      if (this.#durability !== "always") return;
      this.#log.flush();
      this.#clearFailure();
    } catch (error) {
      this.#onFailure(error as Error);
    }
  }

  #onTime(counts: boolean): void {
    try {
      this.#flush(counts);
    } catch (error) {
      this.#onFailure(error as Error);
    }
  }

  /** Handles a failure for which no caller waits: logs the error immediately, and lets the next call that would change the Replay throw it. */
  #onFailure(error: Error): void {
    if (!this.#isFailing) this.#logger.warn(`${error.message}. The changes are kept in memory`);
    this.#isFailing = true;
    const takeError = (): Error => {
      if (!this.#log.broken) this.#engine.journalError = undefined;
      return error instanceof ReplayError ? refusalError(error, this.#log.broken) : error;
    };
    this.#engine.journalError = takeError;
    this.#tryAgain();
  }

  #tryAgain(): void {
    if (typeof this.#durability === "object" && !this.#log.broken) this.#flushTimer.retry(this.#durability.everyMs);
  }

  #clearFailure(): void {
    if (this.#isFailing) this.#logger.info("all waiting changes are on the disk now");
    this.#isFailing = false;
    this.#engine.journalError = undefined;
  }

  /** Writes the changes since the last group as one group. @param counts whether to include draw counts */
  #group(counts: boolean): void {
    this.#isBusy = true;
    try {
      // If the disk is full, changes stay marked instead of accumulating as bytes.
      if (this.#log.waiting > MAX_WAITING) this.#log.flush();
      this.#changes.forget();
      if (this.#write(counts)) this.#log.commit();
      if (this.#isCompacting) {
        this.#compact();
        // Large groups need several shares.
        for (let shares = SHARES; shares > 0 && this.#exceeds(1.5, this.#log.leaving); shares--) this.#compact();
        // Files of released segments are removed with the next flush or segment, after their replacement is on the disk. If the files take too much space, the
        // log is flushed now.
        if (this.#exceeds(1.75)) this.#log.flush();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  /** Writes the changes to the log. Returns whether there were any. */
  #write(counts = this.#countsInGroups): boolean {
    const log = this.#log;
    const segment = log.segment;
    let sections = 0;
    const write = (kind: number, id: number, payload: Uint8Array): void => {
      log.write(kind, id, payload);
      sections++;
    };
    this.#changes.write(segment, write, counts);
    this.#layouts.write(segment, write);
    const isNewSegment = this.#restSegment !== segment;
    if (isNewSegment) this.#lastWritten.clear();
    for (const [kind, id, payload] of this.#rest()) {
      const name = `${kind}.${id}`;
      if (equal(this.#lastWritten.get(name), payload)) continue;
      this.#lastWritten.set(name, payload);
      write(kind, id, payload);
    }
    this.#restSegment = segment;
    return sections !== 0;
  }

  /** Yields the sections outside pools and tables. The newest segment must contain all of them, so they are written again in each new segment. */
  *#rest(): Generator<Section, void> {
    yield [WRITERS, 0, this.#openWriters()];
    yield* this.#changes.numbers();
    if (this.#keptValue !== undefined) yield [KEPT, 0, this.#keptValue];
    yield* this.sessions.sections();
  }

  /**
   * Returns the encoded WRITERS section. Encodes the section again only if a writer was opened or closed, or if a writer returns new options, which include its
   * state.
   */
  #openWriters(): Uint8Array {
    const all = this.#replayState.writers.map(({ options }) => options);
    const isSame = all.length === this.#encodedOptions.length && all.every((options, i) => options === this.#encodedOptions[i]);
    if (!isSame || this.#writers === undefined) {
      this.#writers = writersBytes(this.#replayState);
      this.#encodedOptions = all;
    }
    return this.#writers;
  }

  /**
   * Does one share of compaction: releases segments without live records, and, if the files are too large, continues to empty the segment with the fewest live
   * bytes.
   */
  #compact(): void {
    const log = this.#log;
    // The sections of `#rest` must be in the newest segment before an older segment is released.
    if (this.#restSegment !== log.segment) return;
    const old = log.segments.filter(({ id }) => id < log.segment);
    for (const { id } of old) if (id !== this.#victim && this.#liveIn(id) === 0) log.drop(id);
    if (this.#victim === 0) {
      if (!this.#exceeds(1, log.leaving)) return;
      const emptiest = old.reduce((best, { id }) => (best === 0 || this.#liveIn(id) < this.#liveIn(best) ? id : best), 0);
      if (emptiest === 0 || this.#liveIn(emptiest) === 0) return;
      this.#victim = emptiest;
      this.#structure = 0;
      this.#cursor = 1;
    }
    this.#empty();
  }

  /** Marks some live records of the victim as changed, so that they are written again. Drops the segment when no live record is left. */
  #empty(): void {
    const changes = this.#changes;
    const structures = changes.pools.length + changes.tables.length;
    if (this.#structure < structures) {
      this.#cursor = changes.collect(this.#victim, this.#structure, this.#cursor, SHARE);
      if (this.#cursor === 0) {
        this.#structure++;
        this.#cursor = 1;
      }
    }
    this.#layouts.empty(this.#victim);
    if (this.#write()) this.#log.commit();
    if (this.#structure === structures && this.#liveIn(this.#victim) === 0 && this.#restSegment === this.#log.segment) {
      const id = this.#victim;
      this.#victim = 0;
      this.#log.drop(id);
    }
  }

  /** Returns whether the files, minus `leaving` bytes, exceed twice the live bytes plus `segments` segments. */
  #exceeds(segments: number, leaving = 0): boolean {
    return this.stats.bytes - leaving > 2 * this.#liveBytes() + segments * this.#segmentBytes;
  }

  /** Returns the number of live bytes in a segment, excluding the sections of `#rest`. */
  #liveIn(segment: number): number {
    return this.#changes.liveIn(segment) + this.#layouts.liveIn(segment);
  }

  #liveBytes(): number {
    let bytes = 0;
    for (const { id } of this.#log.segments) bytes += this.#liveIn(id);
    for (const payload of this.#lastWritten.values()) bytes += payload.length;
    return bytes;
  }
}

function closedError(): ReplayError {
  return new ReplayError("CLOSED", "this journal was closed, or its directory was opened again. A directory has only one owner");
}

/** Returns the error with which a call is rejected after a failed write. @param broken whether the journal can no longer be written */
function refusalError({ code, message, cause }: ReplayError, broken: boolean): ReplayError {
  const remedy = broken ? "" : ". The journal is written as soon as possible. Repeat this call";
  const error = new ReplayError(code, `${message}. All earlier calls took effect in memory, but this call had no effect${remedy}`);
  error.cause = cause;
  return error;
}

function equal(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a === b || (a?.length === b.length && a.every((byte, i) => byte === b[i]));
}
