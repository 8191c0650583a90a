/** A stream of the core: the steps that a lane, an episode or a memory holds, oldest first. */
import type { Engine } from "./engine.ts";

/** What the arena gives at least: a stream of its own takes so much. */
const GRANULE = 4096;
/** Names of rows that are read at a time: what fills memory can be read all the same. */
const NAMES = 1024;

/** A stream that is somewhere: the lane of a writer, one of a set. */
export class CoreStream {
  /** STREAM in linear memory. */
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

  /** The row of the last step; 0 where none may follow. */
  get newest(): number {
    return this.engine.core.x.stream_newest(this.handle) >>> 0;
  }

  /** Names of n rows from the `from`-th oldest on. */
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

  /** Room for so many steps more. @throws ReplayError OUT_OF_MEMORY, and then nothing changed */
  reserve(steps: number): void {
    const { core } = this.engine;
    core.checkedResult(core.x.stream_reserve(this.handle, steps));
  }

  /** A writer's lane, which is empty, goes on where this one ended. */
  lend(lane: number): void {
    this.engine.core.x.stream_lend(this.handle, lane);
  }

  /** Takes over what was appended to a lane since it was lent; room for it was made before. What is lent is taken back, whatever happened (`finally`). O(steps) */
  take(lane: number): void {
    this.engine.core.x.stream_take(this.handle, lane);
  }

  /** Holds another's steps as well; room for them was made before. O(steps) */
  hold(other: CoreStream): void {
    this.engine.core.x.stream_hold(this.handle, other.handle);
  }
  drop(n: number): void {
    this.engine.core.x.stream_drop(this.handle, n);
  }

  /** Gives the newest step the value that the newest step of another has in a leaf; it must have zeros there. O(bytes) */
  patch(leaf: number, from: CoreStream): void {
    this.engine.core.x.stream_patch(this.handle, from.handle, leaf);
  }

  /** Lets all steps go; nothing is linked to the next one. */
  clear(): void {
    this.engine.core.x.stream_clear(this.handle);
  }

  /** Ends the episode, and lets the steps go unless they live on. */
  end(across = false): void {
    this.engine.core.x.stream_end(this.handle, across ? 1 : 0);
  }
}

/** One with memory of its own. */
export class StandaloneStream extends CoreStream {
  readonly #room: number;

  /** @param keep how many steps it holds; 0: all, it grows. @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, keep: number) {
    const { core, pool } = engine;
    super(engine, core.alloc(GRANULE));
    const room = (GRANULE - core.x.stream_bytes(0)) / 4;
    this.#room = keep === 0 ? room : Math.min(keep, room);
    core.x.stream_init(this.handle, pool, this.#room, keep);
  }

  /** Ends the episode, and gives back what it took as it grew: it is as it was at first. */
  reset(): void {
    this.end();
    this.engine.core.x.stream_shrink(this.handle, this.#room);
  }

  /** Gives its memory back. */
  close(): void {
    this.reset();
    this.engine.core.x.arena_free(this.handle, GRANULE);
  }
}
