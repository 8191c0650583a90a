/** Windows of frames without those that cross the end of an episode: what TF-Agents' example of SAC does by `unbatch`, `filter` and `batch`. */

import { mustBe, ReplayError } from "../../base/error.ts";
import type { ElementSource } from "../../batch/iterate.ts";
import type { Column } from "../../schema/column.ts";
import { isLeaf, shapeOf } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import { concat, slice } from "../nest.ts";
import { StepType } from "../time-step.ts";
import { toElementSource } from "./iterate.ts";
import type { AsDatasetOptions, Element } from "./replay-buffer.ts";

/** Draws without any window in a row, after which the buffer is asked whether it has one. */
const MISSES = 64;

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

/** Whether any segment has a window of `width` steps that crosses no boundary. @param types of all frames, segment by segment */
export function hasWindow(types: Column["data"], segments: number, steps: number, width: number): boolean {
  for (let segment = 0; segment < segments; segment++)
    for (let t = 0, run = 0; t < steps; t++) {
      if (run >= width - 1) return true;
      run = Number(types[segment * steps + t]) === StepType.LAST ? 0 : run + 1;
    }
  return false;
}

/** The windows of elements that cross no boundary, as elements of the same size. What an element has too many is in the next one. */
export class BoundaryFilter<S> {
  readonly #size: number | undefined;
  /** Windows that are left, each part [rows, steps, …]. */
  #parts: Element<S>[] = [];
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
      const [first, ...rest] = this.#parts as [Element<S>, ...Element<S>[]];
      const rows = stepTypes(first).shape[0] as number;
      const count = Math.min(rows, missing);
      parts.push(count === rows ? first : part(first, 0, count));
      this.#parts = count === rows ? rest : [part(first, count, rows), ...rest];
      missing -= count;
      this.#rows -= count;
    }
    return parts.length === 1 ? parts[0] : (concat(parts) as unknown as Element<S>);
  }

  /** Forgets the windows that are left. */
  clear(): void {
    this.#parts = [];
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

/** A buffer's draws. */
export interface WindowSource<S> {
  /** @throws ReplayError EMPTY, TOO_FEW */
  draw(): Element<S>;
  /** Changes where frames were forgotten: their windows then are, too. */
  clears(): number;
  /** Whether a window that crosses no boundary is there. O(frames) */
  hasWindow(): boolean;
}

/** @returns what draws the next element @throws ReplayError EMPTY, TOO_FEW by the function */
export function drawWithin<S>(size: number | undefined, numSteps: number, buffer: WindowSource<S>): () => Element<S> {
  const filter = new BoundaryFilter<S>(size);
  let clears = buffer.clears();
  return () => {
    if (clears !== buffer.clears()) filter.clear();
    clears = buffer.clears();
    for (let misses = 0; ; ) {
      const element = filter.take();
      if (element !== undefined) return element;
      misses = filter.add(buffer.draw()) === 0 ? misses + 1 : 0;
      if (misses === MISSES && !buffer.hasWindow())
        throw new ReplayError("TOO_FEW", `every window of ${numSteps} steps crosses the end of an episode: use smaller numSteps, or add longer episodes`);
    }
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
