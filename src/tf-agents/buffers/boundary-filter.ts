/** Windows of frames without those that cross the end of an episode: what TF-Agents' example of SAC does by `unbatch`, `filter` and `batch`. */

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

/** Draws of all windows for one element; what it lacks then is drawn among the windows that cross no boundary. */
const MAX_DRAWS = 64;
/** One window in so many is few: such windows are listed before anything is drawn. */
const FEW = 32;

/** @throws ReplayError SPEC_MISMATCH, RangeError where a dataset cannot leave out the windows that cross a boundary */
export function checkBoundaries<S>(spec: Spec, { numSteps, sequencePreprocessFn }: AsDatasetOptions<S>): void {
  const { stepType } = spec as { readonly stepType?: unknown };
  if (!isLeaf(stepType) || stepType.dtype === "string" || shapeOf(stepType as never).length > 0)
    throw mustBe("SPEC_MISMATCH", "dataSpec", "one with stepType, a number, for a dataset with dropBoundaries (trajectorySpec has it)", spec);
  if (numSteps === undefined || numSteps < 2) throw mustBe(RangeError, "numSteps", "at least 2 for a dataset with dropBoundaries", numSteps);
  if (sequencePreprocessFn !== undefined)
    throw mustBe(RangeError, "sequencePreprocessFn", "left out for a dataset with dropBoundaries (change its elements instead)", sequencePreprocessFn);
}

/** Which of `rows` windows of `steps` step types cross no boundary: all but the last step of such a window are within an episode. */
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
 * The windows of `width` steps that cross no boundary, as numbers: segment × windows of a segment + its first step.
 * @param types of all frames, segment by segment
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

/** The windows of elements that cross no boundary, as elements of the same size. What an element has too many is in the next one. */
export class BoundaryFilter<S> {
  readonly #size: number | undefined;
  /** Windows that are left, each part [rows, steps, …]; the first one begins with its row #offset. */
  #parts = new Fifo<Element<S>>();
  #offset = 0;
  #rows = 0;

  /** @param size windows of an element; undefined for elements of one window, without a dimension for it */
  constructor(size: number | undefined) {
    this.#size = size;
  }

  /** Takes the windows of an element. Returns how many are kept. */
  add(element: Element<S>): number {
    const { data, shape } = stepTypes(element);
    const rows = this.#size === undefined ? 1 : (shape[0] as number);
    const steps = data.length / rows;
    const kept = rowsWithin(data, rows, steps);
    this.#rows += kept.length;
    if (kept.length === rows) this.#parts.push(element);
    // Neighbours stay together.
    else
      for (let i = 0; i < kept.length; ) {
        const begin = kept[i] as number;
        let end = begin;
        for (; kept[i] === end; end++) i++;
        this.#parts.push(part(element, begin, end));
      }
    return kept.length;
  }

  /** The next element, once there are windows enough for it. @param isShort whether fewer do, at the end of a pass */
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

  /** How many windows the next element lacks. */
  get missing(): number {
    return Math.max((this.#size ?? 1) - this.#rows, 0);
  }

  /** Forgets the windows that are left. */
  clear(): void {
    this.#parts.clear();
    this.#offset = 0;
    this.#rows = 0;
  }
}

function stepTypes<S>([items]: Element<S>): Column {
  return (items as unknown as { readonly stepType: Column }).stepType;
}

/** Some windows of an element. A pass has no probabilities. */
function part<S>([items, info]: Element<S>, begin: number, end: number): Element<S> {
  const { ids, probabilities } = info;
  const rows = { ids: slice(ids, begin, end), probabilities: probabilities.data.length === 0 ? probabilities : slice(probabilities, begin, end) };
  return [slice(items, begin, end), rows] as unknown as Element<S>;
}

/** The windows of a buffer that cross no boundary, by their numbers, and how many windows there are in all. */
export interface FittingWindows {
  readonly windows: readonly number[];
  readonly total: number;
}

/** A buffer's draws. */
export interface WindowSource<S> {
  /** Draws among all windows. @throws ReplayError EMPTY, TOO_FEW */
  draw(): Element<S>;
  /** Draws n windows among some of them: as an element of n, or without a dimension for it where elements have none. */
  drawAmong(fitting: FittingWindows, n: number): Element<S>;
  /** Changes where frames were forgotten: their windows then are, too. */
  clears(): number;
  /** Changes with the frames. */
  version(): number;
  /** O(frames) @throws ReplayError EMPTY, TOO_FEW */
  fitting(): FittingWindows;
}

/**
 * Draws the next element: among all windows, without those that cross a boundary. If few windows cross none, it draws among these, so that it always comes to an end.
 * @returns what draws @throws ReplayError EMPTY, TOO_FEW by the function
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
  /** Whether there were few the last time that it was asked. */
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
        throw new ReplayError("TOO_FEW", `every window of ${numSteps} steps crosses the end of an episode: use smaller numSteps, or add longer episodes`);
      filter.add(buffer.drawAmong(fitting, filter.missing));
    }
    return filter.take() as Element<S>;
  };
}

/** A pass without the windows that cross a boundary. The last element may be short, unless that is dropped. */
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
