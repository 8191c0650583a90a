/** Implements a stream of the core: the steps of a lane, an episode or a buffer, oldest first. */
import type { Engine } from "./engine.ts";

/** The arena's smallest allocation, which is also the size of a standalone stream. */
const GRANULE = 4096;
/** The number of row numbers read at a time, so that even a stream that fills the memory can be read. */
const NAMES = 1024;

/** A stream inside another structure: the lane of a writer, or a member of a set. */
export class CoreStream {
  /** The address of STREAM in linear memory. */
  readonly handle: number;
  protected readonly engine: Engine;

  constructor(engine: Engine, handle: number) {
    this.engine = engine;
    this.handle = handle;
  }
  get length(): number {
    return this.engine.core.x.stream_length(this.handle);
  }
  get episodeSteps(): number {
    return this.engine.core.x.stream_episode_steps(this.handle);
  }

  /** The row of the last step, to which the next step will be linked; 0 if the next step will not be linked, such as after the end of an episode. */
  get newest(): number {
    return this.engine.core.x.stream_newest(this.handle) >>> 0;
  }

  /** Returns the numbers of n rows from index `from` on. Index 0 is the oldest row. */
  rows(from = 0, n: number = this.length - from): Uint32Array {
    const { core } = this.engine;
    const rows = new Uint32Array(n);
    const at = core.scratch(4 * NAMES);
    for (let done = 0; done < n; done += NAMES) {
      const count = core.x.stream_rows(this.handle, from + done, Math.min(NAMES, n - done), at);
      rows.set(core.u32.subarray(at / 4, at / 4 + count), done);
    }
    return rows;
  }

  /** Makes room for `steps` more steps. @throws ReplayError OUT_OF_MEMORY; nothing changes in that case */
  reserve(steps: number): void {
    const { core } = this.engine;
    core.checkedResult(core.x.stream_reserve(this.handle, steps));
  }

  /** Lets a writer's empty lane continue this stream. */
  lend(lane: number): void {
    this.engine.core.x.stream_lend(this.handle, lane);
  }

  /**
   * Moves the steps appended to a lane since `lend` into this stream; room must be reserved. Call `take` in `finally`, since `take` also ends the loan.
   * O(steps)
   */
  take(lane: number): void {
    this.engine.core.x.stream_take(this.handle, lane);
  }

  /** Makes this stream also keep the steps of another stream; room must be reserved. O(steps) */
  hold(other: CoreStream): void {
    this.engine.core.x.stream_hold(this.handle, other.handle);
  }
  drop(n: number): void {
    this.engine.core.x.stream_drop(this.handle, n);
  }

  /** Copies the value of a leaf from another stream's newest step to this stream's newest step, in which the leaf must be zeros. O(bytes) */
  patch(leaf: number, from: CoreStream): void {
    this.engine.core.x.stream_patch(this.handle, from.handle, leaf);
  }

  /** Releases all steps. The next step is not linked to them. */
  clear(): void {
    this.engine.core.x.stream_clear(this.handle);
  }

  /** Ends the episode, and releases its steps unless `across` is true. */
  end(across = false): void {
    this.engine.core.x.stream_end(this.handle, across ? 1 : 0);
  }
}

/** A stream with its own memory. */
export class StandaloneStream extends CoreStream {
  readonly #room: number;

  /** @param keep the number of steps that the stream keeps; 0 for all steps, so that it grows @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, keep: number) {
    const { core, pool } = engine;
    super(engine, core.alloc(GRANULE));
    const room = (GRANULE - core.x.stream_bytes(0)) / 4;
    this.#room = keep === 0 ? room : Math.min(keep, room);
    core.x.stream_init(this.handle, pool, this.#room, keep);
  }

  /** Ends the episode, and frees the memory taken for growth. */
  reset(): void {
    this.end();
    this.engine.core.x.stream_shrink(this.handle, this.#room);
  }

  /** Frees the memory of the stream. */
  close(): void {
    this.reset();
    this.engine.core.x.arena_free(this.handle, GRANULE);
  }
}
