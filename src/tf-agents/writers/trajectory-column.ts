/**
 * Implements a column of a future item. It selects steps of one leaf from a writer's history. Corresponds to `TrajectoryColumn` of Reverb. Indices follow
 * Python.
 */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import type { ItemColumn } from "../../tables/step-sink.ts";
import { stepAt, stepsOfList, stepsOfSlice } from "./indices.ts";

export class TrajectoryColumn {
  /** Whether the column is a single step, without a time dimension. */
  readonly isSqueezed: boolean;
  readonly #source: ColumnSource;
  readonly #leaf: PlacedLeaf;
  /** Step numbers, counted since the writer was created. */
  readonly #steps: readonly number[];

  /** Called by the columns of a history. @throws RangeError if there is no step, if a step is no longer kept, or if a step has no value for the field */
  constructor(source: ColumnSource, leaf: PlacedLeaf, steps: readonly number[], isSqueezed: boolean) {
    this.#source = source;
    this.#leaf = leaf;
    this.#steps = steps;
    this.isSqueezed = isSqueezed;
    this.#mustBeHeld(leaf.path || "the history", source);
  }

  /** The number of steps, which is 1 if the column is squeezed. */
  get length(): number {
    return this.#steps.length;
  }

  /**
   * Returns a column of one step, without a time dimension.
   * @throws TypeError if the index is not a number
   * @throws RangeError if the index is outside of -length … length - 1
   */
  at(index: number): TrajectoryColumn {
    return this.#of([stepAt("index", index, this.length)], true);
  }

  /**
   * Returns a column of every `step`-th step from `start` up to, but not including, `stop`. If `step` is negative, the order is backwards.
   * @throws TypeError if an argument is not a number
   * @throws RangeError if no step is selected
   */
  slice(start?: number | null, stop?: number | null, step?: number | null): TrajectoryColumn {
    return this.#of(stepsOfSlice(start, stop, step, this.length, Number.MIN_SAFE_INTEGER), false);
  }

  /**
   * Returns a column of the steps at the given indices, in that order. An index may repeat.
   * @throws TypeError if an index is not a number
   * @throws RangeError if an index is outside of -length … length - 1
   */
  list(indices: readonly number[]): TrajectoryColumn {
    return this.#of(stepsOfList(indices, this.length), false);
  }

  /** Yields `at(0)`, `at(1)` …. */
  *[Symbol.iterator](): Generator<TrajectoryColumn, void> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }

  #of(indices: readonly number[], isSqueezed: boolean): TrajectoryColumn {
    const steps = indices.map((index) => this.#steps[index] as number);
    return createColumn(this.#source, this.#leaf, steps, isSqueezed);
  }

  get dtype(): RowLeaf["dtype"] {
    return this.#leaf.leaf.dtype;
  }

  /** The number of steps, followed by the shape of the leaf. A squeezed column has only the shape of the leaf. */
  get shape(): number[] {
    return [...(this.isSqueezed ? [] : [this.#steps.length]), ...this.#leaf.shape];
  }

  /**
   * Returns a copy of the values. Corresponds to `numpy()` of Reverb. Costs O(bytes).
   * @throws RangeError if a step is no longer kept, or has no value for the field
   */
  values(): Column {
    this.#mustBeHeld("this column", this.#source);
    return new Column(this.#source.read(this.#leaf, this.#steps), this.shape);
  }

  /** Returns this column as a column of an item. All its steps must still be in the writer's history. @throws RangeError if a step is no longer available */
  itemColumn(name: string, subject: string, source: ColumnSource): ItemColumn {
    this.#mustBeHeld(subject, source);
    return { name, leaf: this.#leaf, steps: this.#steps, isSqueezed: this.isSqueezed };
  }

  #mustBeHeld(subject: string, source: ColumnSource): void {
    if (source !== this.#source) throw mustBe(RangeError, subject, "a column of this writer's history", this);
    if (this.#steps.length === 0) throw mustBe(RangeError, subject, "a column of at least one step", this.#steps);
    for (const step of this.#steps) source.mustHoldStep(subject, this.#leaf, step);
  }
}

/** Defined outside the class, because the class must not name itself (see inspect.ts). */
function createColumn(source: ColumnSource, leaf: PlacedLeaf, steps: readonly number[], isSqueezed: boolean): TrajectoryColumn {
  return new TrajectoryColumn(source, leaf, steps, isSqueezed);
}

/** The source of a column's values, which is a writer's history. */
export interface ColumnSource {
  /** Checks that a step of a leaf is available. @throws RangeError if the step of the leaf is not available */
  mustHoldStep(subject: string, leaf: PlacedLeaf, step: number): void;
  read(leaf: PlacedLeaf, steps: readonly number[]): Column["data"];
}
