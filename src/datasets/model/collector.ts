/** Collects steps into columns. Every value is checked against the spec and copied. */
import { mustBe, type Rule } from "../../base/error.ts";
import { type LeafTarget, put } from "../../schema/copy-values.ts";
import { type AnyArray, DTYPES, type Dtype, type NumberArray, zeros } from "../../schema/dtype.ts";
import { isText } from "../../schema/leaf.ts";
import { type Visit, visitor } from "../../schema/nest.ts";
import type { StepSpec } from "./dataset.ts";
import { type LeafEntry, leavesOf } from "./leaves.ts";
import { type Place, RldsError } from "./rlds-error.ts";
import type { ColumnData } from "./step-columns.ts";
import { DATA } from "./step-spec.ts";

/** Columns that grow step by step. */
export class Collector {
  readonly #leaves: readonly LeafEntry[];
  readonly #targets: readonly LeafTarget[];
  readonly #visit: Visit;
  #columns: (AnyArray | (string | Uint8Array)[])[];
  #capacity: number;
  #length = 0;
  #textBytes = 0;
  readonly #stepBytes: number;
  /** The name of the step that is being added, for messages. `#place` is its place. */
  #subject = "step";
  #place: Place = {};

  /** @param capacity the expected number of steps */
  constructor(spec: StepSpec, capacity = 64) {
    this.#leaves = leavesOf(spec);
    this.#targets = this.#leaves.map(({ leaf: { dtype, shape }, size }) => ({ dtype, shape, size }));
    this.#visit = visitor(
      spec,
      (column) => (value) => this.#put(column, value),
      (_, keys, rule, value) => this.#mismatchError(keys, rule, value),
    );
    this.#capacity = Math.max(capacity, 1);
    this.#stepBytes = this.#leaves.reduce((sum, { leaf, size }) => sum + (isText(leaf) ? 0 : size * DTYPES[leaf.dtype].bytes), 0);
    this.#columns = this.#empty();
  }

  get length(): number {
    return this.#length;
  }

  /** The approximate number of bytes that were collected so far. */
  get bytes(): number {
    return this.#length * this.#stepBytes + this.#textBytes;
  }

  /** Adds a step. @param subject the name of the value in messages @throws RldsError SPEC_MISMATCH with the place of the step and the path of the leaf */
  add(step: unknown, place: Place = {}, subject = "step"): void {
    if (this.#length === this.#capacity) this.#grow();
    this.#place = place;
    this.#subject = subject;
    this.#visit(step);
    this.#length++;
  }

  /** Returns the collected columns and resets the collector. */
  take(): { readonly data: ColumnData[]; readonly length: number } {
    const length = this.#length;
    const data = this.#columns.map((column, i): ColumnData => {
      const size = (this.#leaves[i] as LeafEntry).size * length;
      return Array.isArray(column) ? column.slice(0, size) : (column as NumberArray).slice(0, size);
    });
    this.#columns = this.#empty();
    this.#length = 0;
    this.#textBytes = 0;
    return { data, length };
  }

  #empty(): (AnyArray | (string | Uint8Array)[])[] {
    return this.#leaves.map(({ leaf, size }) => (isText(leaf) ? [] : (zeros(leaf.dtype, size * this.#capacity) as AnyArray)));
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#columns = this.#columns.map((column, i) => {
      if (Array.isArray(column)) return column;
      const { leaf, size } = this.#leaves[i] as LeafEntry;
      const larger = zeros(leaf.dtype as Dtype, size * this.#capacity) as unknown as NumberArray;
      larger.set(column as NumberArray);
      return larger as AnyArray;
    });
  }

  #put(column: number, value: unknown): void {
    const target = this.#targets[column] as LeafTarget;
    const to = this.#columns[column] as NumberArray;
    const from = this.#length * target.size;
    const mismatch = put(target, to, from, value, DATA);
    if (mismatch !== undefined) throw this.#mismatchError((this.#leaves[column] as LeafEntry).keys, mismatch.rule, mismatch.value);
    if (!ArrayBuffer.isView(to)) for (let i = from; i < from + target.size; i++) this.#textBytes += (to as readonly string[])[i]?.length ?? 0;
  }

  #mismatchError(keys: readonly string[], rule: Rule, value: unknown): RldsError {
    return new RldsError("SPEC_MISMATCH", mustBe(TypeError, keys.join("/") || this.#subject, rule, value).message, this.#place);
  }
}
