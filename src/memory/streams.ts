/** A set of streams that follow each other in memory: buffers draw windows of their steps. */
import type { Engine } from "./engine.ts";

export interface StreamSetOptions {
  readonly seed: number | bigint;
  /** The lanes of a writer; or how many of its own, which grow. */
  readonly streams: readonly number[] | number;
}

export class StreamSet {
  /** STREAM SET in linear memory. */
  readonly handle: number;
  readonly size: number;
  readonly #engine: Engine;
  readonly #first: number;
  readonly #stride: number;
  /** What it took: the set, and streams of its own behind it. */
  readonly #bytes: number;

  /** @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, { seed, streams }: StreamSetOptions) {
    const { core, pool } = engine;
    const { x } = core;
    const ownsStreams = typeof streams === "number";
    this.#engine = engine;
    this.size = ownsStreams ? streams : streams.length;
    const setBytes = x.streams_bytes(this.size);
    const streamBytes = x.stream_bytes(0);
    this.#bytes = setBytes + (ownsStreams ? this.size * streamBytes : 0);
    this.handle = core.alloc(this.#bytes);
    const [first = 0, second = first] = ownsStreams ? [this.handle + setBytes, this.handle + setBytes + streamBytes] : streams;
    this.#first = first;
    this.#stride = second - first;
    for (let i = 0; ownsStreams && i < this.size; i++) x.stream_init(this.at(i), pool, 0, 0);
    x.streams_init(this.handle, this.size, first, this.#stride);
    const bits = BigInt.asUintN(64, BigInt(seed));
    x.streams_seed(this.handle, Number(bits & 0xffffffffn), Number(bits >> 32n), 0);
  }
  at(i: number): number {
    return this.#first + i * this.#stride;
  }
  length(i: number): number {
    return this.#engine.core.x.stream_length(this.at(i));
  }

  /** The sum of the streams' weights for windows of `width` steps; 0 where no stream is long enough. O(1), or O(streams) after a change */
  total(width: number, weigh: number): number {
    return this.#engine.core.x.streams_total(this.handle, width, weigh);
  }
  show(i: number, isShown: boolean): void {
    this.#engine.core.x.streams_show(this.handle, i, isShown ? 1 : 0);
  }

  /** Room for so many steps more in stream i. @throws ReplayError OUT_OF_MEMORY, and then nothing changed */
  reserve(i: number, steps: number): void {
    const { core } = this.#engine;
    core.checkedResult(core.x.stream_reserve(this.at(i), steps));
  }

  /** A writer's lane, which is empty, goes on where stream i ended. */
  lend(i: number, lane: number): void {
    this.#engine.core.x.stream_lend(this.at(i), lane);
  }

  /** Stream i takes over what was appended to a lane since it was lent; room for it was made before. O(steps) */
  take(i: number, lane: number): void {
    const { x } = this.#engine.core;
    x.stream_take(this.at(i), lane);
    x.streams_changed(this.handle);
  }

  /** Ends the episode of stream i, and lets its steps go. O(steps) */
  end(i: number): void {
    const { x } = this.#engine.core;
    x.stream_end(this.at(i), 0);
    x.streams_changed(this.handle);
  }

  /** Gives its memory back. Streams of its own must be empty. */
  close(): void {
    this.#engine.core.x.arena_free(this.handle, this.#bytes);
  }
}
