/** Implements a set of streams that are adjacent in memory. Buffers draw windows of the streams' steps. */
import type { Engine } from "./engine.ts";

export interface StreamSetOptions {
  readonly seed: number | bigint;
  /** The streams of a writer's lanes, or the number of streams to create in the set. Created streams grow. */
  readonly streams: readonly number[] | number;
}

export class StreamSet {
  /** The address of the STREAM SET in linear memory. */
  readonly handle: number;
  readonly size: number;
  readonly #engine: Engine;
  readonly #first: number;
  readonly #stride: number;
  /** The number of bytes of the set and of the streams created in it. */
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

  /** Returns the sum of the streams' weights for windows of `width` steps; 0 if no stream is long enough. O(1), or O(streams) after a change */
  total(width: number, weigh: number): number {
    return this.#engine.core.x.streams_total(this.handle, width, weigh);
  }
  show(i: number, isShown: boolean): void {
    this.#engine.core.x.streams_show(this.handle, i, isShown ? 1 : 0);
  }

  /** Makes room for `steps` more steps in stream i. @throws ReplayError OUT_OF_MEMORY; nothing changes in that case */
  reserve(i: number, steps: number): void {
    const { core } = this.#engine;
    core.checkedResult(core.x.stream_reserve(this.at(i), steps));
  }

  /** Lets a writer's empty lane continue stream i. */
  lend(i: number, lane: number): void {
    this.#engine.core.x.stream_lend(this.at(i), lane);
  }

  /** Moves the steps appended to a lane since `lend` into stream i; room must be reserved. O(steps) */
  take(i: number, lane: number): void {
    const { x } = this.#engine.core;
    x.stream_take(this.at(i), lane);
    x.streams_changed(this.handle);
  }

  /** Ends the episode of stream i, and releases its steps. O(steps) */
  end(i: number): void {
    const { x } = this.#engine.core;
    x.stream_end(this.at(i), 0);
    x.streams_changed(this.handle);
  }

  /** Frees the memory of the set. The streams created in it must be empty. */
  close(): void {
    this.#engine.core.x.arena_free(this.handle, this.#bytes);
  }
}
