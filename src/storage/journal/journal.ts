/** The journal of a Replay: after its calls, what they changed goes to a log as a group; what the log holds in vain is given back. */

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

/** Bytes of changes that make a group, unless it must go at once. */
const GROUP = 128 * 1024;
/** Bytes that one call's share of compaction reads at least. */
const SHARE = 1 << 20;
/** Shares at most that a group takes, where one is not enough. */
const SHARES = 1000;
/** Bytes that may wait for a disk that is full. */
const MAX_WAITING = 8 << 20;
/** How often the counts of draws are written where nobody asks for it: a busy learner draws every item of its table each second, and each count has 8 bytes. */
const COUNTS_MS = 1000;

export interface JournalStats {
  /** Of the files. */
  readonly bytes: number;
  /** Of records that still count; with `retain: "capacity"` the files stay within twice as many and two segments. */
  readonly liveBytes: number;
  readonly segments: number;
}

export class Journal {
  /** Of remote writers: for the package's own modules. */
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
  /** Whether the last try to write failed. */
  #isFailing = false;
  /** Marks that make a group. */
  readonly #max: number;
  /** What was written last of the things of which there is one each, by kind and id. */
  readonly #lastWritten = new Map<string, Uint8Array>();
  /** The segment in which they all are. */
  #restSegment = 0;
  /** The segment that is being emptied, and how far. */
  #victim = 0;
  #structure = 0;
  #cursor = 1;
  /** With by-hand durability a group is a moment that the caller chose: it has the counts of draws. */
  readonly #countsInGroups: boolean;
  /** Whether the timer that flushes is slow enough to write the counts of draws. */
  readonly #countsInFlushes: boolean;
  readonly #flushTimer = new DelayedCall(() => this.#onTime(this.#countsInFlushes));
  /** Else they have a timer of their own. */
  readonly #countsTimer = new DelayedCall(() => this.#onTime(true));
  #isBusy = false;
  #isClosed = false;
  #keptValue: Uint8Array | undefined;
  /** WRITERS, and the options that it was made of. */
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
    // Where everything is kept, rows that are freed wait for their group: it comes at once, so that they take no room.
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

  /** What `keep` was given last, in this run or one before; undefined before the first. */
  // biome-ignore lint/suspicious/noExplicitAny: the program's own value
  get kept(): any {
    return this.#keptValue && decodeTagged(this.#keptValue);
  }

  /**
   * Keeps a value of the program's own beside the Replay, of the same moment: a learner's weights, where an environment stands. Copies. It takes the place of the
   * one before, and is on the disk when what was done so far is. Calls before it may be on the disk earlier: only with `durability: "manual"` and `retain: "capacity"`
   * are they and the value one group, so that a kill leaves both or neither.
   * @param value null, booleans, numbers, bigints, strings, typed arrays, Dates, and arrays, plain objects, Maps and Sets of them
   * @throws TypeError naming the path of anything else
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
   * Resolves when everything so far is on the disk: it will be there after a crash.
   * @throws ReplayError IO where it cannot be written; what is in memory stands, and later calls and flushes try again
   */
  async flush(): Promise<void> {
    this.#open();
    this.#flush();
    await this.#log.confirm();
  }

  /** Flushes, and lets the files go. The Replay is not usable afterwards. */
  close(): void {
    if (this.#isClosed) return;
    try {
      this.#flush();
    } finally {
      this.#end();
    }
  }

  /** Writes everything anew, behind what is there; that is given back, unless everything is kept. For what was salvaged. @throws ReplayError IO */
  renew(): void {
    const changes = this.#changes;
    const old = this.#log.segments.map(({ id }) => id);
    // From here on it is in a new segment.
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

  /** @param counts whether the counts of draws are written, too */
  #flush(counts = true): void {
    this.#flushTimer.cancel();
    if (counts) this.#countsTimer.cancel();
    try {
      this.#group(counts);
      this.#log.flush();
    } catch (error) {
      // Whoever waits for this is told; without a timer nothing would try again.
      this.#tryAgain();
      throw error;
    }
    this.#clearFailure();
  }

  /** After a call that changed something, which stands whatever becomes of this. */
  #onChange(): void {
    if (this.#isBusy) return;
    if (this.#changes.marks >= this.#max || this.#durability === "always") this.#save();
    this.#schedule();
  }

  /** What changed is written when its time has come. */
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

  /** Nobody waits for what failed: the logger is told at once, and the next call that would change something is refused. */
  #onFailure(error: Error): void {
    if (!this.#isFailing) this.#logger.warn(`${error.message}; what was done is in memory`);
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
    if (this.#isFailing) this.#logger.info("what waited for the disk is there now");
    this.#isFailing = false;
    this.#engine.journalError = undefined;
  }

  /** Writes what changed since the last group as one. @param counts whether the counts of draws are part of it */
  #group(counts: boolean): void {
    this.#isBusy = true;
    try {
      // Where the disk refuses, changes stay marked rather than pile up.
      if (this.#log.waiting > MAX_WAITING) this.#log.flush();
      this.#changes.forget();
      if (this.#write(counts)) this.#log.commit();
      if (this.#isCompacting) {
        this.#compact();
        // Large groups need more than a share.
        for (let shares = SHARES; shares > 0 && this.#exceeds(1.5, this.#log.leaving); shares--) this.#compact();
        // Files go with the next flush or segment, when what is in their place is on the disk; here only where they are too many.
        if (this.#exceeds(1.75)) this.#log.flush();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  /** Whether there was anything to write. */
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

  *#rest(): Generator<Section, void> {
    yield [WRITERS, 0, this.#openWriters()];
    yield* this.#changes.numbers();
    if (this.#keptValue !== undefined) yield [KEPT, 0, this.#keptValue];
    yield* this.sessions.sections();
  }

  /** What WRITERS says: made anew where a writer came or went, or has a state of its own. */
  #openWriters(): Uint8Array {
    const all = this.#replayState.writers.map(({ options }) => options);
    const isSame = all.length === this.#encodedOptions.length && all.every((options, i) => options === this.#encodedOptions[i]);
    if (!isSame || this.#writers === undefined) {
      this.#writers = writersBytes(this.#replayState);
      this.#encodedOptions = all;
    }
    return this.#writers;
  }

  /** A share of what keeps the files small: segments whose records nothing asks for any more are given back, the emptiest one is emptied. */
  #compact(): void {
    const log = this.#log;
    // What there is one of each must be in the newest segment.
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

  /** Notes some of the records as changed that still count in the victim, so that they are written again; when all are, drops it. */
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

  /** Whether the files, but for so many bytes, are larger than twice what counts and so many segments. */
  #exceeds(segments: number, leaving = 0): boolean {
    return this.stats.bytes - leaving > 2 * this.#liveBytes() + segments * this.#segmentBytes;
  }

  /** Bytes in a segment that still count, but for what there is one of each. */
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
  return new ReplayError("CLOSED", "this journal was closed, or its directory was opened again: a directory has one owner");
}

/** @param broken whether nothing more is written */
function refusalError({ code, message, cause }: ReplayError, broken: boolean): ReplayError {
  const remedy = broken ? "" : ", and is written as soon as that is possible: make this call again";
  const error = new ReplayError(code, `${message}; all calls before this one are in memory, this one did nothing${remedy}`);
  error.cause = cause;
  return error;
}

function equal(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a === b || (a?.length === b.length && a.every((byte, i) => byte === b[i]));
}
