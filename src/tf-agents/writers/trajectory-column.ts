/** A column of an item to be: some steps of one leaf of a writer's history. Reverb's `TrajectoryColumn`. Indices are Python's. */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import type { ItemColumn } from "../../tables/step-sink.ts";
import { stepAt, stepsOfList, stepsOfSlice } from "./indices.ts";

export class TrajectoryColumn {
  /** Whether it is a single step, without a dimension of time. */
  readonly isSqueezed: boolean;
  readonly #source: ColumnSource;
  readonly #leaf: PlacedLeaf;
  /** By their number since the writer was made. */
  readonly #steps: readonly number[];

  /** Made by a history's columns. @throws RangeError for no step, one that the writer no longer has, or one that left the field out */
  constructor(source: ColumnSource, leaf: PlacedLeaf, steps: readonly number[], isSqueezed: boolean) {
    this.#source = source;
    this.#leaf = leaf;
    this.#steps = steps;
    this.isSqueezed = isSqueezed;
    this.#mustBeHeld(leaf.path || "the history", source);
  }

  /** Its steps; 1 where it is squeezed. */
  get length(): number {
    return this.#steps.length;
  }

  /** One of its steps, without a dimension of time. @throws RangeError outside of -length … length - 1 · TypeError */
  at(index: number): TrajectoryColumn {
    return this.#of([stepAt("index", index, this.length)], true);
  }

  /** From `start` to before `stop`, every `step`-th; backwards where it is negative. @throws RangeError for no step at all · TypeError */
  slice(start?: number | null, stop?: number | null, step?: number | null): TrajectoryColumn {
    return this.#of(stepsOfSlice(start, stop, step, this.length, Number.MIN_SAFE_INTEGER), false);
  }

  /** Steps one by one, in any order; one may come more than once. @throws RangeError outside of -length … length - 1 · TypeError */
  list(indices: readonly number[]): TrajectoryColumn {
    return this.#of(stepsOfList(indices, this.length), false);
  }

  /** `at` 0, 1, … */
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

  /** Steps, unless it is squeezed; then the leaf's own shape. */
  get shape(): number[] {
    return [...(this.isSqueezed ? [] : [this.#steps.length]), ...this.#leaf.shape];
  }

  /**
   * What it holds, copied out. Reverb's `numpy()`. O(bytes)
   * @throws RangeError for a step that the writer no longer has, or that left the field out
   */
  values(): Column {
    this.#mustBeHeld("this column", this.#source);
    return new Column(this.#source.read(this.#leaf, this.#steps), this.shape);
  }

  /** The same as a column of an item, if the writer's history holds all its steps. @throws RangeError */
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

/** Out of the class, which does not name itself: see inspect.ts. */
function createColumn(source: ColumnSource, leaf: PlacedLeaf, steps: readonly number[], isSqueezed: boolean): TrajectoryColumn {
  return new TrajectoryColumn(source, leaf, steps, isSqueezed);
}

/** What columns are of: a writer's history. */
export interface ColumnSource {
  /** @throws RangeError for a step of a leaf that is not at hand */
  mustHoldStep(subject: string, leaf: PlacedLeaf, step: number): void;
  read(leaf: PlacedLeaf, steps: readonly number[]): Column["data"];
}
