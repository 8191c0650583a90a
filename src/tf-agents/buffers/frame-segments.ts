/** Stores the last frames of several environments that run in lock-step, in one segment per environment. Frames are drawn uniformly or read in order. */

import { mustBe, ReplayError } from "../../base/error.ts";
import type { StepsOf } from "../../batch/batch.ts";
import { type Dataset, elementsOf } from "../../batch/iterate.ts";
import type { Engine } from "../../memory/engine.ts";
import { engineOf, Replay } from "../../replay/replay.ts";
import { Column } from "../../schema/column.ts";
import type { Spec } from "../../schema/spec.ts";
import type { Writer } from "../../tables/writer.ts";
import { at, lengthOf, numbers, slice, stack, unbatch } from "../nest.ts";
import { Windows } from "../windows.ts";
import { checkBoundaries, drawWithin, type FittingWindows, passWithin, type WindowSource, windowsWithin } from "./boundary-filter.ts";
import { drawEndlessly, iterateWindows, mapElements, preprocessItems, toElementSource } from "./iterate.ts";
import {
  type AsDatasetOptions,
  type BufferInfo,
  checkDataset,
  checkGetNext,
  type Element,
  type GetNextOptions,
  type SeparateElement,
  type StoreOptions,
} from "./replay-buffer.ts";

/**
 * The maximum number of rounds of random numbers per draw. Each round fails with a probability of at most one half, so more rounds are practically never
 * needed.
 */
const MAX_ROUNDS = 64;

export interface SegmentOptions extends StoreOptions {
  readonly batchSize: number;
  /** The number of frames per segment. */
  readonly maxLength: number;
}

export class FrameSegments<S extends Spec> {
  readonly #dataSpec: S;
  readonly #batchSize: number;
  readonly #maxLength: number;
  readonly #engine: Engine;
  readonly #writer: Writer<S, never, boolean>;
  readonly #windows: Windows;
  readonly #dropRemainder: boolean;
  readonly #shift: number | undefined;
  /** The number of frames added per segment since the segments were last empty. */
  #added = 0;
  /** The number of calls to `clear`. From it, a read that takes several calls detects that its frames were dropped. */
  #clears = 0;
  /** A counter that increases with every change of the frames. */
  #version = 0;

  constructor(dataSpec: S, { batchSize, maxLength, datasetDropRemainder = false, datasetWindowShift, seed = 0, maxBytes, module }: SegmentOptions) {
    this.#dataSpec = dataSpec;
    this.#batchSize = batchSize;
    this.#maxLength = maxLength;
    this.#dropRemainder = datasetDropRemainder;
    this.#shift = datasetWindowShift;
    const replay = new Replay<Spec, never>({ spec: dataSpec, seed, maxBytes, module });
    this.#engine = engineOf(replay);
    this.#writer = replay.writer({ lanes: batchSize, keep: maxLength, items: [] }) as unknown as Writer<S, never, boolean>;
    this.#windows = new Windows(this.#engine, { seed, streams: this.#writer.streams });
  }

  /** The memory in use, in bytes. */
  get bytes(): number {
    return this.#engine.bytes;
  }

  /** Adds one frame per segment. */
  append(values: unknown): void {
    this.#append(1, () => this.#writer.append(values as never));
  }

  /** Adds several frames to the only segment, as one flat typed array per leaf. Adds either all frames or none. */
  appendRows(values: unknown, rows: number): void {
    this.#append(rows, () => this.#writer.appendColumns(values as never));
  }

  #append(steps: number, write: () => void): void {
    // The steps are counted first, because code that waits for frames resumes during the append.
    this.#added += steps;
    this.#version++;
    try {
      write();
    } catch (error) {
      this.#added -= steps;
      this.#version++;
      throw error;
    }
  }

  /** Draws windows, as described in `TFUniformReplayBuffer.getNext`. */
  getNext(options: GetNextOptions): Element<S> | SeparateElement<S> {
    this.#engine.open();
    return this.#draw(checkGetNext(options));
  }

  /** Returns a dataset of windows that cross no boundary, as described in `UniformDatasetOptions`. The caller has checked the options. */
  datasetWithin(options: AsDatasetOptions<S>): Dataset<Element<S>> {
    this.#engine.open();
    checkBoundaries(this.#dataSpec, options);
    const { sampleBatchSize, numSteps = 0, singleDeterministicPass, timeoutMs } = options;
    if (singleDeterministicPass) {
      this.#checkPass(sampleBatchSize, numSteps);
      return elementsOf(() => passWithin(sampleBatchSize, this.#traverse(options), this.#dropRemainder), options);
    }
    const source: WindowSource<S> = {
      draw: () => this.#draw({ sampleBatchSize, numSteps }) as Element<S>,
      drawAmong: (fitting, n) => this.#drawAmong(fitting, n, numSteps, sampleBatchSize === undefined),
      clears: () => this.#clears,
      version: () => this.#version,
      fitting: () => this.#fitting(numSteps),
    };
    return elementsOf(() => drawEndlessly(drawWithin(sampleBatchSize, numSteps, source), this.#engine.waiters, timeoutMs), options);
  }

  /** Returns a dataset that applies `change` to each element when it is drawn. */
  dataset<E>(options: AsDatasetOptions<S>, change: (element: Element<S>) => E): Dataset<E> {
    this.#engine.open();
    const { sampleBatchSize, numSteps, singleDeterministicPass, sequencePreprocessFn, timeoutMs } = checkDataset(this.#dataSpec, options);
    const { waiters } = this.#engine;
    if (!singleDeterministicPass) {
      const draw = () => change(this.#draw({ sampleBatchSize, numSteps }, sequencePreprocessFn) as Element<S>);
      return elementsOf(() => drawEndlessly(draw, waiters, timeoutMs), options);
    }
    this.#checkPass(sampleBatchSize, numSteps);
    return elementsOf(() => toElementSource(mapElements(this.#traverse(options), change)), options);
  }

  /** Checks the options of a pass. @throws RangeError for a pass that could never contain an element */
  #checkPass(sampleBatchSize = 0, numSteps = 0): void {
    if (!this.#dropRemainder) return;
    if (sampleBatchSize > this.#batchSize)
      throw mustBe(RangeError, "sampleBatchSize", `at most ${this.#batchSize} (the number of segments) if datasetDropRemainder is set`, sampleBatchSize);
    if (numSteps > this.#maxLength) throw mustBe(RangeError, "numSteps", `at most maxLength (${this.#maxLength}) if datasetDropRemainder is set`, numSteps);
  }

  /** Returns all frames, each leaf [batchSize, T, …], oldest first. */
  gatherAll(): StepsOf<S> {
    this.#engine.open();
    const { first, steps } = this.#span();
    return this.#read([...this.#writer.streams.keys()], first, steps, "stacked") as StepsOf<S>;
  }

  /** Drops all frames; times restart at 0. */
  clear(): void {
    this.#writer.endEpisode();
    this.#added = 0;
    this.#clears++;
    this.#version++;
  }

  /** The number of frames in all segments together. */
  get size(): number {
    return this.#batchSize * this.#span().steps;
  }

  /** Returns the range of frames in each segment: the time of the oldest frame, and the number of frames. The time of a frame is a counter that never wraps. */
  #span() {
    const steps = Math.min(this.#added, this.#maxLength);
    return { first: this.#added - steps, steps };
  }

  #draw({ sampleBatchSize, numSteps, timeStacked = true }: GetNextOptions, preprocess?: (items: StepsOf<S>) => unknown): Element<S> | SeparateElement<S> {
    const width = numSteps ?? 1;
    const { first, steps } = this.#span();
    if (steps === 0) throw empty();
    const layout = numSteps === undefined ? "single" : timeStacked ? "stacked" : "apart";
    const windowDraw = this.#windows.draw(sampleBatchSize ?? 1, width, layout);
    if (windowDraw === undefined) throw tooFew(steps, width);
    const { starts, probabilities } = windowDraw;
    let { items } = windowDraw;
    if (preprocess !== undefined) items = stack(Array.from(starts, (_, i) => preprocess(at(items, i) as StepsOf<S>)));
    const ids =
      layout === "apart"
        ? Array.from({ length: width }, (_, t) => timesOf(starts, first + t, 1, [starts.length]))
        : timesOf(starts, first, width, layout === "single" ? [starts.length] : [starts.length, width]);
    const element = [items, { ids, probabilities: numbers(probabilities) }];
    return (sampleBatchSize === undefined ? unbatch(element) : element) as unknown as Element<S>;
  }

  /** Lists the windows that cross no boundary. @throws ReplayError EMPTY if there are no frames, TOO_FEW if a window is longer than the segments */
  #fitting(width: number): FittingWindows {
    const { steps } = this.#span();
    if (steps === 0) throw empty();
    if (width > steps) throw tooFew(steps, width);
    const segments = [...this.#writer.streams.keys()];
    const types = this.#windows.column("stepType", segments, steps);
    return { windows: windowsWithin(types, segments.length, steps, width), total: segments.length * (steps - width + 1) };
  }

  /**
   * Draws n of the listed windows with the same random number generator as all other draws. The probabilities are those of draws from all windows, as if the
   * unlisted windows had been drawn and then left out.
   */
  #drawAmong({ windows, total }: FittingWindows, n: number, width: number, isUnbatched: boolean): Element<S> {
    const { first, steps } = this.#span();
    const perSegment = steps - width + 1;
    // Numbers from the last, incomplete cycle through the list are rejected, because they would favour the beginning of the list.
    const limit = total - (total % windows.length);
    const chosen: number[] = [];
    for (let round = 0; chosen.length < n; round++)
      for (const number of this.#windows.numbers(n - chosen.length, width, perSegment))
        if (number < limit || round >= MAX_ROUNDS) chosen.push(windows[number % windows.length] as number);
    const starts = Uint32Array.from(chosen, (number) => number % perSegment);
    const items = this.#windows.read(
      chosen.map((number) => Math.floor(number / perSegment)),
      [...starts],
      width,
      "stacked",
    );
    const element = [items, { ids: timesOf(starts, first, width, [n, width]), probabilities: numbers(new Float64Array(n).fill(1 / total)) }];
    return (isUnbatched ? unbatch(element) : element) as unknown as Element<S>;
  }

  *#traverse({ sampleBatchSize, numSteps, sequencePreprocessFn }: AsDatasetOptions<S>): Generator<Element<S>, void> {
    const span = this.#span();
    const clears = this.#clears;
    if (span.steps === 0) throw empty();
    const isUnbatched = sampleBatchSize === undefined;
    const single = numSteps === undefined;
    const shift = single ? 1 : (this.#shift ?? numSteps);
    for (const group of this.#groups(sampleBatchSize)) {
      if (this.#clears !== clears) return;
      // Frames that were dropped in the meantime are left out. A preprocessing function receives only the remaining frames of each segment.
      const from = Math.max(this.#span().first - span.first, 0);
      if (from >= span.steps) return;
      const sequences = sequencePreprocessFn && this.#sequences(sequencePreprocessFn, group, span.first + from, span.steps - from);
      const steps = sequences === undefined ? span.steps : from + (sequences.length === 0 ? 0 : lengthOf(sequences[0]));
      for (const [begin, end] of iterateWindows(steps, numSteps ?? 1, shift, !isUnbatched || this.#dropRemainder)) {
        if (this.#clears !== clears) return;
        if (begin < (sequences === undefined ? this.#span().first - span.first : from)) continue;
        const items = sequences?.map((sequence) => (single ? at(sequence, begin - from) : slice(sequence, begin - from, end - from)));
        const time = span.first + begin;
        const firsts = Float64Array.from(group, (segment) => segment * this.#maxLength);
        const element = [
          items === undefined ? this.#read(group, time, end - begin, single ? "single" : "stacked") : stack(items),
          { ids: timesOf(firsts, time, end - begin, single ? [group.length] : [group.length, end - begin]) },
        ];
        const [data, { ids }] = (isUnbatched ? unbatch(element) : element) as unknown as [StepsOf<S>, BufferInfo];
        yield [data, { ids, probabilities: numbers([]) }];
      }
    }
  }

  /** Returns the results of a program's function for some segments. It receives `steps` frames of each segment, starting at `time`. */
  #sequences(fn: (items: StepsOf<S>) => unknown, group: readonly number[], time: number, steps: number): unknown[] {
    // Read all segments first, because the function may add frames.
    const read = this.#read(group, time, steps, "stacked");
    return group.map((_, i) => preprocessItems(fn, at(read, i), steps, false));
  }

  /** Yields the groups of segments that form a batch. */
  *#groups(size = 1): Generator<number[], void> {
    for (let first = 0; first < this.#batchSize; first += size) {
      const group = [...this.#writer.streams.keys()].slice(first, first + size);
      if (group.length === size || !this.#dropRemainder) yield group;
    }
  }

  /** Reads `steps` frames of some segments, starting at `time`: [segments, steps, …]. */
  #read(segments: readonly number[], time: number, steps: number, layout: "single" | "stacked"): unknown {
    const start = time - this.#span().first;
    const starts = segments.map(() => start);
    return this.#windows.read(segments, starts, steps, layout);
  }
}

function empty(): ReplayError {
  return new ReplayError("EMPTY", "the buffer is empty. Add frames with addBatch() first");
}

function tooFew(steps: number, width: number): ReplayError {
  return new ReplayError("TOO_FEW", `numSteps must be at most ${steps}, the number of frames in a segment, got ${width}. Add more frames`);
}

/** Returns the times of `steps` frames from each start. Uses plain loops, because a draw must cost little more than copying its bytes. */
function timesOf(starts: Uint32Array | Float64Array, first: number, steps: number, shape: number[]): Column<"f64"> {
  const data = new Float64Array(starts.length * steps);
  for (let i = 0, to = 0; i < starts.length; i++) for (let t = 0; t < steps; t++) data[to++] = first + (starts[i] as number) + t;
  return new Column<"f64">(data, shape);
}
