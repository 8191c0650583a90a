/** Filters out windows of frames that cross the end of an episode, as the SAC example of TF-Agents does with `unbatch`, `filter` and `batch`. */

import { mustBe, ReplayError } from "../../base/error.ts";
import { Fifo } from "../../base/fifo.ts";
import type { ElementSource } from "../../batch/iterate.ts";
import type { Column } from "../../schema/column.ts";
import { isLeaf, shapeOf } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import { concat, slice } from "../nest.ts";
import { StepType } from "../time-step.ts";
import { toElementSource } from "./iterate.ts";
import type { AsDatasetOptions, Element } from "./replay-buffer.ts";

/** The maximum number of draws per element from all windows. After that, missing windows are drawn only from the windows that cross no boundary. */
const MAX_DRAWS = 64;
/** If less than one in this many windows is usable, the usable windows are listed before the first draw. */
const FEW = 32;

/**
 * Checks that a dataset can leave out the windows that cross a boundary. @throws ReplayError SPEC_MISMATCH if the spec has no `stepType` of one number ·
 * RangeError if `numSteps` is less than 2, or if `sequencePreprocessFn` is set
 */
export function checkBoundaries<S>(spec: Spec, { numSteps, sequencePreprocessFn }: AsDatasetOptions<S>): void {
  const { stepType } = spec as { readonly stepType?: unknown };
  if (!isLeaf(stepType) || stepType.dtype === "string" || shapeOf(stepType as never).length > 0)
    throw mustBe("SPEC_MISMATCH", "dataSpec", ["a spec with a stepType of one number for a dataset with dropBoundaries", "Use trajectorySpec()"], spec);
  if (numSteps === undefined || numSteps < 2) throw mustBe(RangeError, "numSteps", "at least 2 for a dataset with dropBoundaries", numSteps);
  if (sequencePreprocessFn !== undefined)
    throw mustBe(
      RangeError,
      "sequencePreprocessFn",
      ["omitted for a dataset with dropBoundaries", "Change the elements of the dataset instead"],
      sequencePreprocessFn,
    );
}

/**
 * Returns the indices of the windows that cross no boundary, out of `rows` windows with `steps` step types each. In such a window, only the last step may be of
 * type LAST.
 */
function rowsWithin(types: Column["data"], rows: number, steps: number): number[] {
  const within: number[] = [];
  for (let row = 0; row < rows; row++) {
    let t = 0;
    while (t < steps - 1 && Number(types[row * steps + t]) !== StepType.LAST) t++;
    if (t >= steps - 1) within.push(row);
  }
  return within;
}

/**
 * Returns the numbers of the windows of `width` steps that cross no boundary: segment × windows per segment + first step.
 * @param types the step types of all frames, segment by segment
 */
export function windowsWithin(types: Column["data"], segments: number, steps: number, width: number): readonly number[] {
  const windows: number[] = [];
  const perSegment = steps - width + 1;
  for (let segment = 0; segment < segments; segment++)
    for (let t = 0, run = 0; t < steps; t++) {
      if (run >= width - 1) windows.push(segment * perSegment + t - width + 1);
      run = Number(types[segment * steps + t]) === StepType.LAST ? 0 : run + 1;
    }
  return windows;
}

/** Collects the windows that cross no boundary into elements of the original size. Surplus windows go into the next element. */
export class BoundaryFilter<S> {
  readonly #size: number | undefined;
  /** The remaining windows, in parts of [rows, steps, …]. The rows of the first part before `#offset` are already taken. */
  #parts = new Fifo<Element<S>>();
  #offset = 0;
  #rows = 0;

  /** @param size the number of windows per element; undefined for elements of one window, without a batch dimension */
  constructor(size: number | undefined) {
    this.#size = size;
  }

  /** Adds the windows of an element. Returns how many of them are kept. */
  add(element: Element<S>): number {
    const { data, shape } = stepTypes(element);
    const rows = this.#size === undefined ? 1 : (shape[0] as number);
    const steps = data.length / rows;
    const kept = rowsWithin(data, rows, steps);
    this.#rows += kept.length;
    if (kept.length === rows) this.#parts.push(element);
    // Each run of adjacent windows is kept as one part.
    else
      for (let i = 0; i < kept.length; ) {
        const begin = kept[i] as number;
        let end = begin;
        for (; kept[i] === end; end++) i++;
        this.#parts.push(part(element, begin, end));
      }
    return kept.length;
  }

  /** Returns the next element if there are enough windows, otherwise undefined. @param isShort whether fewer windows suffice, as at the end of a pass */
  take(isShort = false): Element<S> | undefined {
    const size = this.#size ?? 1;
    if (this.#rows === 0 || (this.#rows < size && !isShort)) return undefined;
    if (this.#size === undefined) {
      this.#rows--;
      return this.#parts.shift();
    }
    const parts: Element<S>[] = [];
    for (let missing = Math.min(size, this.#rows); missing > 0; ) {
      const first = this.#parts.first as Element<S>;
      const rows = stepTypes(first).shape[0] as number;
      const from = this.#offset;
      const to = Math.min(rows, from + missing);
      parts.push(to - from === rows ? first : part(first, from, to));
      this.#offset = to === rows ? 0 : to;
      if (to === rows) this.#parts.shift();
      missing -= to - from;
      this.#rows -= to - from;
    }
    return parts.length === 1 ? parts[0] : (concat(parts) as unknown as Element<S>);
  }

  /** The number of windows that the next element still needs. */
  get missing(): number {
    return Math.max((this.#size ?? 1) - this.#rows, 0);
  }

  /** Drops the remaining windows. */
  clear(): void {
    this.#parts.clear();
    this.#offset = 0;
    this.#rows = 0;
  }
}

function stepTypes<S>([items]: Element<S>): Column {
  return (items as unknown as { readonly stepType: Column }).stepType;
}

/** Returns the windows from `begin` to before `end` of an element. The elements of a pass have no probabilities. */
function part<S>([items, info]: Element<S>, begin: number, end: number): Element<S> {
  const { ids, probabilities } = info;
  const rows = { ids: slice(ids, begin, end), probabilities: probabilities.data.length === 0 ? probabilities : slice(probabilities, begin, end) };
  return [slice(items, begin, end), rows] as unknown as Element<S>;
}

/** The numbers of a buffer's windows that cross no boundary. `total` is the number of all its windows. */
export interface FittingWindows {
  readonly windows: readonly number[];
  readonly total: number;
}

/** A buffer from which windows are drawn. */
export interface WindowSource<S> {
  /** Draws from all windows. @throws ReplayError EMPTY if there are no frames, TOO_FEW if a window is longer than the segments */
  draw(): Element<S>;
  /** Draws n of the given windows. The element has n windows, or is a single window if elements have no batch dimension. */
  drawAmong(fitting: FittingWindows, n: number): Element<S>;
  /** Returns a counter that changes whenever frames are cleared, because clearing also invalidates their windows. */
  clears(): number;
  /** Returns a counter that changes whenever the frames change. */
  version(): number;
  /** Lists the windows that cross no boundary. O(frames) @throws the errors of `draw` */
  fitting(): FittingWindows;
}

/**
 * Returns a function that draws the next element from all windows, without the windows that cross a boundary. If few windows are usable, it draws only from the
 * usable windows, so every draw ends. @returns the draw function @throws ReplayError EMPTY, TOO_FEW from that function
 */
export function drawWithin<S>(size: number | undefined, numSteps: number, buffer: WindowSource<S>): () => Element<S> {
  const filter = new BoundaryFilter<S>(size);
  let clears = buffer.clears();
  let known: (FittingWindows & { readonly version: number }) | undefined;
  const listed = (): FittingWindows => {
    const version = buffer.version();
    if (known?.version !== version) known = { ...buffer.fitting(), version };
    return known;
  };
  const isFew = ({ windows, total }: FittingWindows) => FEW * windows.length < total;
  /** Whether few windows were usable at the last check. */
  let wereFew = false;
  return () => {
    if (clears !== buffer.clears()) filter.clear();
    clears = buffer.clears();
    wereFew = wereFew && isFew(listed());
    for (let draws = wereFew ? MAX_DRAWS : 0; filter.missing > 0 && draws < MAX_DRAWS; draws++) filter.add(buffer.draw());
    if (filter.missing > 0) {
      const fitting = listed();
      wereFew = isFew(fitting);
      if (fitting.windows.length === 0)
        throw new ReplayError("TOO_FEW", `every window of ${numSteps} steps crosses the end of an episode. Pass a smaller numSteps, or add longer episodes`);
      filter.add(buffer.drawAmong(fitting, filter.missing));
    }
    return filter.take() as Element<S>;
  };
}

/** Returns the elements of a pass without the windows that cross a boundary. The last element may be short, unless `dropsShort` is set. */
export function passWithin<S>(size: number | undefined, elements: Iterable<Element<S>>, dropsShort: boolean): ElementSource<Element<S>> {
  const filter = new BoundaryFilter<S>(size);
  function* pass(): Generator<Element<S>, void> {
    for (const element of elements) {
      filter.add(element);
      for (let ready = filter.take(); ready !== undefined; ready = filter.take()) yield ready;
    }
    const rest = dropsShort ? undefined : filter.take(true);
    if (rest !== undefined) yield rest;
  }
  return toElementSource(pass());
}
