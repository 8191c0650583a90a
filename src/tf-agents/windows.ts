/** Draws windows from a buffer's streams, or reads given windows, into new arrays. */

import { LEVEL } from "../base/abi.ts";
import { integer } from "../base/error.ts";
import { gather } from "../batch/gather.ts";
import { type ItemBuffer, itemBuffer } from "../batch/item-layout.ts";
import { BatchPool } from "../batch/pool.ts";
import type { Engine } from "../memory/engine.ts";
import { StreamSet, type StreamSetOptions } from "../memory/streams.ts";
import type { Column } from "../schema/column.ts";
import { type Selection, wholeOf } from "../schema/columns.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { pack } from "../schema/nest.ts";

/**
 * The layout of windows: "single" for one step without a time dimension, "stacked" for all steps along one dimension, or "apart" for a separate batch per step.
 */
export type WindowLayout = "single" | "stacked" | "apart";

/** Drawn windows, with their streams, first steps and probabilities, and with their steps as a batch. */
export interface WindowDraw {
  readonly streams: Uint32Array;
  readonly starts: Uint32Array;
  readonly probabilities: Float64Array;
  readonly items: unknown;
}

export class Windows {
  readonly streams: StreamSet;
  readonly #engine: Engine;
  readonly #allSteps: readonly Selection[];
  readonly #singleStep: readonly Selection[];
  /** The pool of batches whose memory can be reused. */
  readonly #pool = new BatchPool();

  constructor(engine: Engine, options: StreamSetOptions) {
    this.streams = new StreamSet(engine, options);
    this.#engine = engine;
    this.#allSteps = wholeOf(engine.layout.leaves);
    this.#singleStep = this.#allSteps.map((selection) => ({ ...selection, squeezed: true, steps: [0] }));
  }

  /** Draws n windows of `width` steps. Returns undefined if no stream is long enough. O(n (log streams + width) + bytes) */
  draw(n: number, width: number, layout: WindowLayout, weighting: number = LEVEL): WindowDraw | undefined {
    // This check comes first, so that no batch is allocated if the draw is impossible.
    if (this.streams.total(width, weighting) === 0) return undefined;
    const buffer = this.#buffer(n, width, layout);
    const draw = buffer.prepare();
    draw.windows(this.streams, n, width, weighting);
    const streams = draw.slots(n).slice();
    const starts = draw.starts(n).slice();
    gather(buffer, n);
    const { info, steps } = this.#toBatch(buffer);
    return { streams, starts, probabilities: info.probabilities, items: this.#nestSteps(steps, width, layout) };
  }

  /** Draws n windows like `draw`, but returns only their numbers, stream × `perStream` + first step. At least one stream must be long enough. */
  numbers(n: number, width: number, perStream: number): number[] {
    const buffer = itemBuffer(this.#engine, { n, width, selections: [], isWhole: false, holds: 0 });
    const draw = buffer.prepare();
    draw.windows(this.streams, n, width, LEVEL);
    const [streams, starts] = [draw.slots(n), draw.starts(n)];
    const windowNumbers = Array.from(streams, (stream, i) => stream * perStream + (starts[i] as number));
    gather(buffer, n);
    return windowNumbers;
  }

  /** Draws a stream in proportion to its weight, without reading steps. Returns undefined if no stream has a weight above 0. */
  drawStream(weighting: number): { readonly stream: number; readonly probability: number } | undefined {
    if (this.streams.total(0, weighting) === 0) return undefined;
    const buffer = itemBuffer(this.#engine, { n: 1, width: 0, selections: [], isWhole: false, holds: 0 });
    const draw = buffer.prepare();
    draw.windows(this.streams, 1, 0, weighting);
    const [stream = 0] = draw.slots(1);
    gather(buffer, 1);
    return { stream, probability: buffer.batch.info.probabilities[0] as number };
  }

  /** Returns windows of `width` steps as a batch. Window i begins at step `starts[i]` of stream `streams[i]`. Missing steps are zeros. */
  read(streams: readonly number[], starts: readonly number[], width: number, layout: "single" | "stacked"): unknown {
    const n = streams.length;
    // A negative width would become a huge unsigned number.
    integer("width", width, 0);
    return this.#readInto(this.#buffer(n, width, layout), streams, starts, width);
  }

  /** Returns one leaf of some steps of the first stream, in any order. `stepNumbers` are positions in the stream's window. O(bytes) */
  steps(leaf: PlacedLeaf, stepNumbers: readonly number[]): Column["data"] {
    const n = stepNumbers.length;
    const selections = [{ keys: ["0"], leaf, start: 0, step: 1, squeezed: true, steps: [0] }];
    const buffer = itemBuffer(this.#engine, { n, width: 1, selections, isWhole: false, holds: 0 });
    const steps = this.#readInto(buffer, new Uint32Array(n), stepNumbers, 1);
    return (steps as { readonly 0: Column })[0].data;
  }

  /** Returns one leaf of the first `width` steps of some streams. The leaf must not be nested. O(bytes) */
  column(name: string, streams: readonly number[], width: number): Column["data"] {
    const selections = this.#allSteps.filter(({ leaf }) => leaf.path === name);
    const buffer = itemBuffer(this.#engine, { n: streams.length, width, selections, isWhole: false, holds: 0 });
    const steps = this.#readInto(buffer, streams, new Uint32Array(streams.length), width);
    return (steps as { readonly [name: string]: Column })[name]?.data as Column["data"];
  }

  /** Frees the memory. If the caller owns the streams, they must be empty. */
  close(): void {
    this.streams.close();
  }

  /** Returns a buffer for n windows. @throws ReplayError OUT_OF_MEMORY if the host cannot allocate arrays of the batch's size */
  #buffer(n: number, width: number, layout: WindowLayout): ItemBuffer {
    if (layout !== "apart") {
      const selections = layout === "single" ? this.#singleStep : this.#allSteps;
      const spare = this.#pool.take(false, n, width, selections, 0) as ItemBuffer | undefined;
      return spare ?? itemBuffer(this.#engine, { n, width, selections, isWhole: true, holds: 0 });
    }
    const leaves = this.#allSteps.length;
    const steps = Array.from({ length: width }, (_, t) =>
      this.#singleStep.map((candidate, i) => ({ ...candidate, keys: [String(t * leaves + i)], steps: [t] })),
    ).flat();
    return itemBuffer(this.#engine, { n, width, selections: steps, isWhole: false, holds: 0 });
  }

  /** Returns the buffer's batch, whose memory the next similar batch may reuse. */
  #toBatch(buffer: ItemBuffer): ItemBuffer["batch"] {
    const { content } = buffer.layout;
    const mayCome = content === this.#allSteps || content === this.#singleStep;
    return (mayCome ? this.#pool.give(buffer) : buffer.give()) as ItemBuffer["batch"];
  }

  /** Returns a batch's columns as a nest, or as one nest per step if the steps are apart. */
  #nestSteps(steps: unknown, width: number, layout: WindowLayout): unknown {
    if (layout !== "apart") return steps;
    const leaves = this.#allSteps.length;
    // Numeric keys are iterated in ascending order.
    const columns = Object.values(steps as { readonly [key: string]: Column });
    return Array.from({ length: width }, (_, t) => pack(this.#engine.spec, columns.slice(t * leaves, (t + 1) * leaves)));
  }

  #readInto(buffer: ItemBuffer, streams: ArrayLike<number>, starts: ArrayLike<number>, width: number): unknown {
    buffer.prepare().nameWindows(this.streams, streams, starts, width);
    gather(buffer, streams.length);
    return this.#toBatch(buffer).steps;
  }
}
