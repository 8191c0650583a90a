/** Implements the recorder, which writes each step of the open episode as one group of the log. */
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

/** The options that describe the end of an episode. */
export interface EndOptions<S = unknown> {
  /** Whether the task succeeded. Default: false. */
  readonly success?: boolean;
  /** A description of the task. Default: "". */
  readonly task?: string;
  /** Whether the environment terminated, so that no further step was possible. Corresponds to `is_terminal` of RLDS. Default: false. */
  readonly terminated?: boolean;
  /** The observation after the last action. Omitted leaves are zeros. The observation becomes a step without an action. Default: none. */
  readonly final?: PartialStepOf<S>;
}

/** The parts from which a recorder is created. */
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

/** The number of unwritten bytes in the log above which the next call first writes them to the disk. The call fails if the disk accepts no data. */
const MAX_WAITING = 1 << 22;

/** A recorder of steps and episodes. A directory has at most one recorder at a time. */
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
  /** The contents of the current segment. */
  #contents: Contents;
  #segment: number;
  #episode: number;
  #length = 0;
  #episodeCount: number;
  /** Whether the last background write failed. */
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
    // The system may write files in any order, but the log must never refer to a file that is not on the disk.
    log.onWrite = () => frames.sync();
    log.onTakeover = () => this.#onTakeover();
    const { index } = resumeState;
    if (index !== undefined) this.#group(() => log.write(RECORDED_INDEX, index.previousSegment, index.bytes));
  }

  /** The spec of a step. */
  get spec(): S {
    return this.#spec as S;
  }

  /** The number of recorded episodes, including episodes that a crash or `close` cut off. Open and discarded episodes do not count. */
  get episodes(): number {
    return this.#episodeCount;
  }

  /** The number of steps in the open episode. 0 between episodes. */
  get length(): number {
    return this.#length;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /**
   * Records a step: an observation and an action. The first step after the end of an episode starts the next episode. The arguments are copied. If `durability`
   * is "always", the step is on the disk when the call returns. With `{ everyMs }`, the step is on the disk within that many milliseconds, or after `flush` or
   * `endEpisode`. With "manual", only `flush` guarantees that the step is on the disk. If the call throws, the step is not recorded, and nothing else has
   * changed. Costs O(bytes of the step), plus the time of the PNG encoder, if one is used.
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec. The error includes the path of the leaf
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError IO if the step cannot be written
   * @throws ReplayError OUT_OF_TURN if a getter of the step calls this method
   * @throws ReplayError CLOSED after `close`
   */
  step(step: StepOf<S>): void {
    this.#open();
    this.#lockWhile(() => this.#staged.take(step));
    this.#group(this.#writeStep);
    this.#length++;
  }

  /**
   * Ends the open episode. When the promise resolves, the whole episode is on the disk. With `durability: "manual"`, only `flush` guarantees this.
   * @throws ReplayError EMPTY if no step was recorded since the end of the last episode
   * @throws ReplayError IO if the disk cannot be written. Call this method again if the episode is still open (`length` above 0)
   * @throws the errors of `step`
   */
  async endEpisode(options: EndOptions<S> = {}): Promise<void> {
    this.#open();
    let end: End | undefined;
    let final: unknown;
    this.#lockWhile(() => {
      const { success = false, task = "", terminated = false, ...rest } = onlyKeys("endEpisode", options, "success, task, terminated, final");
      if (!isWellFormed(task)) throw mustBe(TypeError, "task", "a well-formed string", task);
      end = { flags: ENDED | (flag("success", success) * SUCCESS) | (flag("terminated", terminated) * TERMINATED), task };
      final = rest.final;
      if (this.#length > 0 && final !== undefined) this.#staged.takePartial(final);
    });
    this.#finishEpisode(end as End, final !== undefined);
    this.#episodeCount++;
    if (this.#durability !== "manual") await this.#log.confirm();
  }

  /** Ends the open episode and marks it as discarded, so readers skip it. Its bytes remain in the files. @throws the errors of `endEpisode` */
  async discardEpisode(): Promise<void> {
    this.#open();
    this.#finishEpisode({ flags: ENDED | DISCARDED, task: "" }, false);
  }

  /**
   * Resolves when everything recorded so far is on the disk.
   * @throws ReplayError IO if a write failed. The data then stays in memory, and later calls try again unless a sync failed
   * @throws ReplayError CLOSED after `close`
   */
  async flush(): Promise<void> {
    this.#open();
    this.#flush();
    await this.#log.confirm();
  }

  /** Flushes the recording and releases the directory. An open episode stays unfinished. @throws ReplayError IO if flushing failed */
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
      throw new ReplayError("CLOSED", `the recorder of ${this.#name} was closed, or its directory was opened again. A directory has only one owner`);
    if (this.#isBusy)
      throw new ReplayError("OUT_OF_TURN", "the recorder was called while another call was reading its arguments. Wait until that call has returned");
  }

  /** Locks the recorder while `read` reads the caller's arguments, because getters in the arguments may call the recorder. */
  #lockWhile(read: () => void): void {
    this.#isBusy = true;
    try {
      read();
    } finally {
      this.#isBusy = false;
    }
  }

  #finishEpisode(end: End, final: boolean): void {
    if (this.#length === 0) throw new ReplayError("EMPTY", "an episode must have at least one step. Record a step before you end the episode");
    const write = () => {
      if (final) this.#writeStaged(RECORDED_FINAL);
      this.#log.write(RECORDED_END, this.#episode, endBytes(end));
      this.#contents.end(this.#episode, end);
    };
    this.#group(write, this.#durability !== "manual");
    this.#episode++;
    this.#length = 0;
  }

  /** Writes the staged values and their frames. `kind` says whether they are a step or the final values of an episode. */
  #writeStaged(kind: number): void {
    this.#frames.write(this.#log, this.#staged.frames, this.#episode, this.#length);
    this.#log.write(kind, this.#episode, this.#staged.row);
    this.#contents.step(this.#episode);
  }

  /**
   * Writes a group either completely or not at all.
   * @param now whether the group is on the disk when this method returns
   * @throws ReplayError IO, OUT_OF_MEMORY if the group cannot be written. In this case, nothing has changed
   */
  #group(write: () => void, now = this.#durability === "always"): void {
    const log = this.#log;
    try {
      this.#frames.check();
      log.check();
      // Writes the waiting data first, so that it does not accumulate in memory.
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
      // If a group cannot be taken back, it may be on the disk and refer to its frames. The next opening of the recording removes frames that are not needed.
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

  /** Starts a segment of the log with a summary of the segment before it. */
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
      // Starts a timer, because nothing else would retry the write.
      if (typeof this.#durability === "object" && !this.#broken) this.#flushTimer.retry(this.#durability.everyMs);
      throw error;
    }
    if (this.#isFailing) this.#logger.info(`${this.#name} can be written again`);
    this.#isFailing = false;
  }

  #onTime(): void {
    try {
      this.#flush();
    } catch (error) {
      // No caller waits for this write, so its failure is only logged.
      if (!this.#isFailing) this.#logger.warn(`${(error as Error).message}. The recorded steps are kept in memory`);
      this.#isFailing = true;
    }
  }

  /** Whether syncing the log or a frame file failed. After such a failure, nothing is written. */
  get #broken(): boolean {
    return this.#log.broken || this.#frames.broken;
  }

  /** Returns the error to throw if a call could not write its data. An IO error then says that the call had no effect. */
  #writeError(error: unknown): unknown {
    const { code, message, cause } = error as ReplayError;
    if (code !== "IO") return error;
    const remedy = this.#broken ? "" : ". Repeat this call when the directory can be written again";
    return Object.assign(new ReplayError(code, `${message}. Earlier steps are kept, and this call had no effect${remedy}`), { cause });
  }

  #onTakeover(): void {
    this.#flushTimer.cancel();
    this.#isClosed = true;
    this.#releaseFrames();
  }

  /** Syncs the frame files before the log refers to them, and closes them. If they cannot be synced, leaves the log without writing. */
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
