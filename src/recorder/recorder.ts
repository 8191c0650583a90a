/** A recorder: steps into the open episode, one group of the log each. */
import { flag, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { RECORDED_END, RECORDED_FINAL, RECORDED_INDEX, RECORDED_STEP } from "../base/kinds.ts";
import type { FullLogger } from "../base/warnings.ts";
import type { RecordingAbout } from "../datasets/model/recording/about.ts";
import { Contents, DISCARDED, ENDED, type End, endBytes, SUCCESS, TERMINATED } from "../datasets/model/recording/contents.ts";
import type { PartialStepOf, Spec, StepOf } from "../schema/spec.ts";
import { isWellFormed } from "../schema/text.ts";
import { DelayedCall, type Durability } from "../storage/log/durability.ts";
import type { Log } from "../storage/log/log.ts";
import type { Frames } from "./frames.ts";
import type { ResumeState } from "./resume.ts";
import type { StagedStep } from "./staged.ts";

/** How an episode ended. */
export interface EndOptions<S = unknown> {
  /** Whether what was to be done was done. Default: false */
  readonly success?: boolean;
  /** What was to be done, in words. Default: "" */
  readonly task?: string;
  /** Whether the environment itself has ended, so that nothing could have come after: RLDS's `is_terminal`. Default: false */
  readonly terminated?: boolean;
  /** What was seen last, behind the last action; leaves that are left out are zeros. It becomes a step without an action of its own. */
  readonly final?: PartialStepOf<S>;
}

/** What a recorder is made of. */
export interface RecorderParts {
  readonly name: string;
  readonly about: RecordingAbout;
  readonly log: Log;
  readonly staged: StagedStep;
  readonly frames: Frames;
  readonly resumeState: ResumeState;
  readonly durability: Durability;
  readonly logger: FullLogger;
}

/** Bytes that may wait for a disk that takes none. */
const MAX_WAITING = 1 << 22;

/** Records steps and episodes. One at a time has a directory. */
export class Recorder<S extends Spec = Spec> {
  readonly fps: number;
  readonly #name: string;
  readonly #spec: Spec;
  readonly #log: Log;
  readonly #staged: StagedStep;
  readonly #frames: Frames;
  readonly #durability: Durability;
  readonly #logger: FullLogger;
  readonly #writeStep = () => this.#writeStaged(RECORDED_STEP);
  readonly #flushTimer = new DelayedCall(() => this.#onTime());
  /** Of the segment that is written. */
  #contents: Contents;
  #segment: number;
  #episode: number;
  #length = 0;
  #episodeCount: number;
  /** Whether the last try to write failed, while nobody waited. */
  #isFailing = false;
  #isBusy = false;
  #isClosed = false;

  constructor({ name, about, log, staged, frames, resumeState, durability, logger }: RecorderParts) {
    this.#name = name;
    this.#spec = about.spec;
    this.fps = about.fps;
    this.#log = log;
    this.#staged = staged;
    this.#frames = frames;
    this.#durability = durability;
    this.#logger = logger;
    this.#contents = resumeState.contents;
    this.#segment = resumeState.segment;
    this.#episode = resumeState.nextEpisode;
    this.#episodeCount = resumeState.episodes;
    log.onSegment = () => this.#beginSegment();
    // However the system orders what it has on the disk: the log never tells of a file that is not there.
    log.onWrite = () => frames.sync();
    log.onTakeover = () => this.#onTakeover();
    const { index } = resumeState;
    if (index !== undefined) this.#group(() => log.write(RECORDED_INDEX, index.previousSegment, index.bytes));
  }

  /** What a step is. */
  get spec(): S {
    return this.#spec as S;
  }

  /** Episodes that are recorded: those that ended, and those that a crash or `close` cut. What is open, and what was discarded, does not count. */
  get episodes(): number {
    return this.#episodeCount;
  }

  /** Steps of the open episode; 0 between episodes. */
  get length(): number {
    return this.#length;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /**
   * Records a step: what was seen, and what was done. The first one after an episode's end begins the next episode. Copies. When it returns, the step is on the disk where
   * `durability` is "always", else at most so many milliseconds later, or with `flush` or `endEpisode`. O(bytes of the step); of PNG, the encoder's time.
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another step than `spec` says, by the leaf · IO where it cannot be written · OUT_OF_TURN within a getter of a
   * step · CLOSED. A step that was refused is not recorded, and nothing else has changed
   */
  step(step: StepOf<S>): void {
    this.#open();
    this.#lockWhile(() => this.#staged.take(step));
    this.#group(this.#writeStep);
    this.#length++;
  }

  /**
   * Ends the open episode. When it resolves, all of the episode is on the disk: it is acknowledged. (With `durability: "manual"` only `flush` says that.)
   * @throws ReplayError EMPTY where no step was recorded since the last end · IO: the episode is still open, and this can be called again · as `step`
   */
  async endEpisode(options: EndOptions<S> = {}): Promise<void> {
    this.#open();
    let end: End | undefined;
    let final: unknown;
    this.#lockWhile(() => {
      const { success = false, task = "", terminated = false, ...rest } = onlyKeys("endEpisode", options, "success, task, terminated, final");
      if (!isWellFormed(task)) throw mustBe(TypeError, "task", "well-formed text", task);
      end = { flags: ENDED | (flag("success", success) * SUCCESS) | (flag("terminated", terminated) * TERMINATED), task };
      final = rest.final;
      if (this.#length > 0 && final !== undefined) this.#staged.takePartial(final);
    });
    this.#finishEpisode(end as End, final !== undefined);
    this.#episodeCount++;
    if (this.#durability !== "manual") await this.#log.confirm();
  }

  /** Ends the open episode, and takes it out: readers pass over it. Its bytes stay. @throws as `endEpisode` */
  async discardEpisode(): Promise<void> {
    this.#open();
    this.#finishEpisode({ flags: ENDED | DISCARDED, task: "" }, false);
  }

  /** Resolves when everything so far is on the disk. @throws ReplayError IO where it is not: it stays in memory, and later calls try again · CLOSED */
  async flush(): Promise<void> {
    this.#open();
    this.#flush();
    await this.#log.confirm();
  }

  /** Flushes, and lets go of the directory. An episode that is open stays an unfinished one. @throws ReplayError IO where flushing failed */
  async close(): Promise<void> {
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#flushTimer.cancel();
    this.#releaseFrames();
    this.#log.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
  }

  #open(): void {
    if (this.#isClosed)
      throw new ReplayError("CLOSED", `the recorder of ${this.#name} was closed, or its directory was opened again: a directory has one owner`);
    if (this.#isBusy) throw new ReplayError("OUT_OF_TURN", "this was called while another call was reading its arguments: call it after that has returned");
  }

  /** Reads what the caller gave, whose getters may call. */
  #lockWhile(read: () => void): void {
    this.#isBusy = true;
    try {
      read();
    } finally {
      this.#isBusy = false;
    }
  }

  #finishEpisode(end: End, final: boolean): void {
    if (this.#length === 0) throw new ReplayError("EMPTY", "an episode must have at least one step: none was recorded since the last one ended");
    const write = () => {
      if (final) this.#writeStaged(RECORDED_FINAL);
      this.#log.write(RECORDED_END, this.#episode, endBytes(end));
      this.#contents.end(this.#episode, end);
    };
    this.#group(write, this.#durability !== "manual");
    this.#episode++;
    this.#length = 0;
  }

  /** Writes the staged step. */
  #writeStaged(kind: number): void {
    this.#frames.write(this.#log, this.#staged.frames, this.#episode, this.#length);
    this.#log.write(kind, this.#episode, this.#staged.row);
    this.#contents.step(this.#episode);
  }

  /**
   * Writes a group: all of it counts, or nothing.
   * @param now whether it is on the disk when this returns
   * @throws ReplayError IO, OUT_OF_MEMORY where it cannot be written: all is as it was
   */
  #group(write: () => void, now = this.#durability === "always"): void {
    const log = this.#log;
    try {
      this.#frames.check();
      log.check();
      // What waits goes first, so that it does not pile up.
      if (this.#isFailing || log.waiting > MAX_WAITING) this.#flush();
    } catch (error) {
      throw this.#writeError(error);
    }
    const mark = log.mark;
    this.#contents.mark();
    this.#frames.mark();
    try {
      write();
      log.commit(now);
    } catch (error) {
      // What cannot be taken back may be on the disk, and then needs its frames; opening removes those that nobody needs.
      if (log.takeBack(mark)) {
        this.#contents.takeBack();
        this.#frames.takeBack();
      }
      throw this.#writeError(error);
    }
    if (typeof this.#durability !== "object") return;
    if (now) this.#flushTimer.cancel();
    else this.#flushTimer.schedule(this.#durability.everyMs);
  }

  /** A new segment of the log: it begins with what the one before holds. */
  #beginSegment(): void {
    this.#log.write(RECORDED_INDEX, this.#segment, this.#contents.bytes());
    this.#contents = new Contents(this.#contents.after);
    this.#segment = this.#log.segment;
  }

  #flush(): void {
    this.#flushTimer.cancel();
    try {
      this.#log.flush();
    } catch (error) {
      // Without a timer nothing would try again.
      if (typeof this.#durability === "object" && !this.#broken) this.#flushTimer.retry(this.#durability.everyMs);
      throw error;
    }
    if (this.#isFailing) this.#logger.info(`${this.#name} is written to again`);
    this.#isFailing = false;
  }

  #onTime(): void {
    try {
      this.#flush();
    } catch (error) {
      // Nobody waits for it.
      if (!this.#isFailing) this.#logger.warn(`${(error as Error).message}; what was recorded is in memory`);
      this.#isFailing = true;
    }
  }

  /** Whether a sync failed: nothing more is written then. */
  get #broken(): boolean {
    return this.#log.broken || this.#frames.broken;
  }

  /** What is thrown for a call that could not be written. */
  #writeError(error: unknown): unknown {
    const { code, message, cause } = error as ReplayError;
    if (code !== "IO") return error;
    const remedy = this.#broken ? "" : ": make this call again when it can be written to";
    return Object.assign(new ReplayError(code, `${message}; what was recorded before is kept, this call did nothing${remedy}`), { cause });
  }

  #onTakeover(): void {
    this.#flushTimer.cancel();
    this.#isClosed = true;
    this.#releaseFrames();
  }

  /** Has the files on the disk, before the log says so. */
  #releaseFrames(): void {
    try {
      this.#frames.sync();
    } catch (error) {
      this.#log.leave();
      throw error;
    } finally {
      this.#frames.close();
    }
  }
}
