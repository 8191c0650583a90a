/** Provides the steps that a writer still has, field by field. Corresponds to `TrajectoryWriter.history` of Reverb. */
import { mustBe, ReplayError } from "../../base/error.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import { pack } from "../../schema/nest.ts";
import type { IsAny, Spec } from "../../schema/spec.ts";
import type { Values } from "./fields.ts";
import { stepAt, stepsOfList, stepsOfSlice } from "./indices.ts";
import { type ColumnSource, TrajectoryColumn } from "./trajectory-column.ts";

/** One field of the available steps. Indices follow Python: 0 is the first step of the episode, -1 the newest. */
export interface HistoryColumn {
  /** The number of steps in the open episode, including steps without this field. Steps of earlier episodes also count if `endEpisode` kept them. */
  readonly length: number;
  /**
   * Returns one step, without a time dimension.
   * @throws RangeError if the index is outside of -length … length - 1, if the step is no longer kept, or if it has no value for the field
   */
  at(index: number): TrajectoryColumn;
  /**
   * Returns every `step`-th step from `start` up to, but not including, `stop`. If `step` is negative, the order is backwards.
   * @throws RangeError if `start` is before the first step, or if no step is selected
   * @throws the errors of `at`
   */
  slice(start?: number | null, stop?: number | null, step?: number | null): TrajectoryColumn;
  /** Returns the steps at the given indices, in that order. An index may repeat. @throws the errors of `at` */
  list(indices: readonly number[]): TrajectoryColumn;
  /** Yields `at(0)`, `at(1)` …. Yields null for a step that is not kept, or that has no value for the field. */
  [Symbol.iterator](): Generator<TrajectoryColumn | null, void>;
}

/** A history, nested like the spec, with the fields that have occurred in steps so far. */
export type HistoryOf<S> = IsAny<S> extends true ? unknown : S extends RowLeaf ? HistoryColumn : { readonly [K in keyof S]: HistoryOf<S[K]> };

export class History implements ColumnSource {
  /** The number of steps appended so far, including an open step. */
  total = 0;
  /** The first step to which an index can refer. */
  start = 0;
  /** No step before this step is available. */
  #oldest = 0;
  /** The number of steps for which each leaf is kept. */
  readonly #keeps: number[];
  /** The leaves without a value in each incomplete step, by step number. */
  readonly #missing = new Map<number, ReadonlySet<number>>();
  readonly #columns: (HistoryColumn | undefined)[] = [];
  readonly #spec: Spec;
  readonly #leaves: readonly PlacedLeaf[];
  /** Returns a copy of some steps of a leaf. */
  readonly read: ColumnSource["read"];
  #nested: unknown;

  constructor(spec: Spec, leaves: readonly PlacedLeaf[], keep: number, read: ColumnSource["read"]) {
    this.#spec = spec;
    this.#leaves = leaves;
    this.#keeps = leaves.map(() => keep);
    this.read = read;
  }

  /** The largest number of steps for which any leaf is kept. */
  get keep(): number {
    return this.#keeps.reduce((max, keep) => Math.max(max, keep), 0);
  }

  /** Returns the value that `keep` would have if one leaf were kept for `steps` steps. */
  longest(leaf: number, steps: number): number {
    return this.#keeps.reduce((max, keep, i) => Math.max(max, i === leaf ? 0 : keep), steps);
  }

  /**
   * Sets the number of steps for which a leaf is kept. @param oldest the first step that is still available. Earlier steps remain unavailable, even if the leaf
   * is now kept for more steps
   */
  keepLeaf(leaf: number, steps: number, oldest: number): void {
    this.#keeps[leaf] = steps;
    this.#oldest = Math.max(this.#oldest, oldest);
  }

  /** Returns the columns of the fields that have occurred so far, nested like the spec. @throws ReplayError EMPTY before the first step */
  get columns(): unknown {
    if (this.#columns.length === 0) throw new ReplayError("EMPTY", "the history is empty. Call append() first");
    const columns = this.#leaves.map((_, i) => this.#columns[i]);
    this.#nested ??= dropUndefined(pack(this.#spec, columns));
    return this.#nested;
  }

  /** Records a new step, given its values, one per leaf. */
  add(values: Values): void {
    this.total++;
    const missing = values.includes(undefined) ? this.#leaves.map((leaf) => leaf.index).filter((leaf) => values[leaf] === undefined) : [];
    this.#fill(values, missing);
    if (this.#missing.size > 0) this.#missing.delete(this.total - 1 - this.keep);
  }

  /** Adds fields to the newest step. */
  extend(values: Values): void {
    const previous = this.#missing.get(this.total - 1) ?? [];
    const missing = [...previous].filter((leaf) => values[leaf] === undefined);
    this.#fill(values, missing);
  }

  /** Returns whether the newest step has a field. */
  has(leaf: number): boolean {
    return this.#missing.get(this.total - 1)?.has(leaf) !== true;
  }

  /** Ends the range of indices. From now on, indices refer only to steps that are appended later. */
  clear(): void {
    this.start = this.total;
    this.#missing.clear();
  }

  mustHoldStep(subject: string, leaf: PlacedLeaf, step: number): void {
    const rule = this.#refusal(leaf, step);
    if (rule !== undefined) throw mustBe(RangeError, `a step of ${subject}`, rule, step - this.start);
  }

  /** Returns the rule that a step breaks if it is unavailable for a leaf, or undefined if the step is available. */
  #refusal(leaf: PlacedLeaf, step: number): string | undefined {
    const keep = this.#keeps[leaf.index] as number;
    if (step < this.start) return "of the open episode";
    if (step < Math.max(this.total - keep, this.#oldest)) return `one of the last ${keep} (or increase numKeepAliveRefs)`;
    return this.#missing.get(step)?.has(leaf.index) === true ? `one that has ${leaf.path}` : undefined;
  }

  #fill(values: Values, missing: readonly number[]): void {
    const newest = this.total - 1;
    if (missing.length === 0) this.#missing.delete(newest);
    else this.#missing.set(newest, new Set(missing));
    if (this.#columns.length === this.#leaves.length && !this.#columns.includes(undefined)) return;
    this.#leaves.forEach((leaf, i) => {
      if (values[i] === undefined || this.#columns[i] !== undefined) return;
      this.#columns[i] = this.#column(leaf);
      this.#nested = undefined;
    });
  }

  #column(leaf: PlacedLeaf): HistoryColumn {
    const start = () => this.start;
    const length = () => this.total - start();
    const make = (indices: readonly number[], isSqueezed: boolean) => {
      const steps = indices.map((index) => index + this.start);
      return new TrajectoryColumn(this, leaf, steps, isSqueezed);
    };
    const isStored = (step: number) => this.#refusal(leaf, step) === undefined;
    const stepColumns = function* () {
      for (let i = 0; i < length(); i++) yield isStored(start() + i) ? make([i], true) : null;
    };
    const column: HistoryColumn = {
      get length() {
        return length();
      },
      at: (index) => make([stepAt("index", index, length())], true),
      slice: (start, stop, step) => make(stepsOfSlice(start, stop, step, length()), false),
      list: (indices) => make(stepsOfList(indices, length()), false),
      [Symbol.iterator]: () => stepColumns(),
    };
    COLUMNS.add(column);
    return column;
  }
}

/** The set of all columns. It distinguishes columns from nests, because a spec may have fields of any name. */
const COLUMNS = new WeakSet<object>();

/** Returns a nest without the undefined values of its objects, or undefined if nothing is left. */
function dropUndefined(node: unknown): unknown {
  if (typeof node !== "object" || node === null || COLUMNS.has(node)) return node;
  if (Array.isArray(node)) {
    const parts = node.map(dropUndefined);
    return parts.every((part) => part === undefined) ? undefined : parts;
  }
  const entries = Object.entries(node)
    .map(([name, part]) => [name, dropUndefined(part)] as const)
    .filter(([, part]) => part !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
