/** The windows of a buffer's streams: drawn or named, and read into new arrays. */
import type { Column } from "../batch.ts";
import { type Exports, LEVEL, OF_STREAMS, SLOT, START } from "../core/abi.ts";
import type { Engine } from "../core/engine.ts";
import { Filler } from "../core/filler.ts";
import { integer, mustBe } from "../error.ts";
import type { Selection } from "../spec/columns.ts";
import type { PlacedLeaf } from "../spec/layout.ts";
import { pack } from "../spec/nest.ts";

/** How windows are shown: one step, without a dimension of time; all steps along one; all steps, each a batch of its own. */
export type Form = "single" | "stacked" | "apart";

/** Windows that were drawn: from which streams, from which step of each on, with which probability, and their steps as a batch. */
export interface Drawn {
  readonly streams: Uint32Array;
  readonly starts: Uint32Array;
  readonly probabilities: Float64Array;
  readonly items: unknown;
}

export interface WindowsOptions {
  readonly seed: number | bigint;
  /** The streams of a writer; how many of its own, which grow. */
  readonly streams: readonly number[] | number;
}

export class Windows {
  readonly x: Exports;
  /** STREAM SET in linear memory. */
  readonly handle: number;
  /** Its streams follow each other. */
  readonly #first: number;
  readonly #stride: number;
  /** What it took: the set, and streams of its own. */
  readonly #bytes: number;
  readonly #engine: Engine;
  readonly #whole: readonly Selection[];
  readonly #single: readonly Selection[];

  constructor(engine: Engine, { seed, streams }: WindowsOptions) {
    const { core, layout, pool } = engine;
    const { x } = core;
    this.x = x;
    this.#engine = engine;
    this.#whole = layout.leaves.map((leaf) => ({ keys: leaf.keys, leaf, start: 0, step: 1, squeezed: false }));
    this.#single = this.#whole.map((selection) => ({ ...selection, squeezed: true, steps: [0] }));
    const own = typeof streams === "number";
    const n = own ? streams : streams.length;
    const setBytes = x.streams_bytes(n);
    const streamBytes = x.stream_bytes(0);
    this.#bytes = own ? setBytes + n * streamBytes : setBytes;
    this.handle = core.alloc(this.#bytes);
    const [first = 0, second = first] = own ? [this.handle + setBytes, this.handle + setBytes + streamBytes] : streams;
    this.#first = first;
    this.#stride = second - first;
    for (let i = 0; own && i < n; i++) x.stream_init(this.stream(i), pool, 0, 0);
    x.streams_init(this.handle, n, first, this.#stride);
    const bits = BigInt.asUintN(64, BigInt(seed));
    x.streams_seed(this.handle, Number(bits & 0xffffffffn), Number(bits >> 32n), 0);
  }

  /** The address of stream i. */
  stream(i: number): number {
    return this.#first + i * this.#stride;
  }

  /** n windows of `width` steps; undefined where no stream is long enough. O(n (log streams + width)), and the bytes */
  draw(n: number, width: number, form: Form, weigh: number = LEVEL): Drawn | undefined {
    // Asked first: what no stream can give needs no room.
    if (this.x.streams_total(this.handle, width, weigh) === 0) return undefined;
    const filler = this.#filler(n, width, form);
    const draw = filler.prepare();
    this.x.streams_draw(this.handle, draw, n, width, weigh);
    const streams = this.#column(draw, SLOT, n).slice();
    const starts = this.#column(draw, START, n).slice();
    filler.fill(draw, n);
    const { info } = filler.batch;
    return { streams, starts, probabilities: info.probabilities, items: this.#nested(filler.batch.steps, width, form) };
  }

  /** A stream by its weight, without steps; undefined where none has any. */
  drawStream(weigh: number): { readonly stream: number; readonly probability: number } | undefined {
    if (this.x.streams_total(this.handle, 0, weigh) === 0) return undefined;
    const filler = new Filler(this.#engine, 1, 0, [], false, 0);
    const draw = filler.prepare();
    this.x.streams_draw(this.handle, draw, 1, 0, weigh);
    const [stream = 0] = this.#column(draw, SLOT, 1);
    filler.fill(draw, 1);
    return { stream, probability: filler.batch.info.probabilities[0] as number };
  }

  /** The windows of `width` steps that begin with these steps of these streams, as a batch; what is not there is zeros. */
  read(streams: readonly number[], starts: readonly number[], width: number, form: "single" | "stacked"): unknown {
    const n = streams.length;
    // Taken as unsigned it would be the longest there is.
    integer("width", width, 0);
    return this.#readInto(this.#filler(n, width, form), streams, starts, width);
  }

  /** Single steps of the first stream, by their place in its window, in any order: one leaf of them. O(bytes) */
  steps(leaf: PlacedLeaf, places: readonly number[]): Column["data"] {
    const n = places.length;
    const filler = new Filler(this.#engine, n, 1, [{ keys: ["0"], leaf, start: 0, step: 1, squeezed: true, steps: [0] }], false, 0);
    const steps = this.#readInto(filler, new Uint32Array(n), places, 1);
    return (steps as { readonly 0: Column })[0].data;
  }

  /** Gives its memory back. Streams of its own must be empty. */
  close(): void {
    this.#engine.core.x.arena_free(this.handle, this.#bytes);
  }

  /** @throws ReplayError OUT_OF_MEMORY where the host has no arrays as long as the batch's */
  #filler(n: number, width: number, form: Form): Filler {
    try {
      if (form !== "apart") return new Filler(this.#engine, n, width, form === "single" ? this.#single : this.#whole, true, 0);
      const leaves = this.#whole.length;
      const steps = Array.from({ length: width }, (_, t) => this.#single.map((one, i) => ({ ...one, keys: [String(t * leaves + i)], steps: [t] }))).flat();
      return new Filler(this.#engine, n, width, steps, false, 0);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw mustBe("OUT_OF_MEMORY", "a batch", "small enough for this host's arrays (ask for fewer windows, or shorter ones)", `${n} × ${width} steps`);
    }
  }

  /** A batch's columns, nested: where the steps are apart, a list of them. */
  #nested(steps: unknown, width: number, form: Form): unknown {
    if (form !== "apart") return steps;
    const leaves = this.#whole.length;
    // Keys that are numbers come in their order.
    const columns = Object.values(steps as { readonly [key: string]: Column });
    return Array.from({ length: width }, (_, t) => pack(this.#engine.spec, columns.slice(t * leaves, (t + 1) * leaves)));
  }

  #readInto(filler: Filler, streams: ArrayLike<number>, starts: ArrayLike<number>, width: number): unknown {
    const n = streams.length;
    const draw = filler.prepare();
    this.#column(draw, SLOT, n).set(streams);
    this.#column(draw, START, n).set(starts);
    this.x.draw_rows(draw, OF_STREAMS, this.handle, n, width, 0);
    filler.fill(draw, n);
    return filler.batch.steps;
  }

  #column(draw: number, which: number, n: number): Uint32Array {
    const { core } = this.#engine;
    const at = (core.x.draw_column(draw, which) >>> 0) / 4;
    return core.u32.subarray(at, at + n);
  }
}
