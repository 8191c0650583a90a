/** Steps into columns: every value is checked against the spec, and copied. */
import { mustBe } from "../../base/error.ts";
import { type AnyArray, DTYPES, type Dtype, type Numbered, zeros } from "../../schema/dtype.ts";
import { type LeafTarget, put } from "../../schema/fit.ts";
import { isText } from "../../schema/leaf.ts";
import { type Visit, visitor } from "../../schema/nest.ts";
import type { StepSpec } from "./dataset.ts";
import { type FoundLeaf, leavesOf } from "./leaves.ts";
import { type Place, RldsError } from "./rlds-error.ts";
import type { ColumnData } from "./step-columns.ts";
import { DATA } from "./step-spec.ts";

/** Columns that grow step by step. */
export class Collector {
  readonly #leaves: readonly FoundLeaf[];
  readonly #targets: readonly LeafTarget[];
  readonly #visit: Visit;
  #columns: (AnyArray | (string | Uint8Array)[])[];
  #room: number;
  #length = 0;
  #textBytes = 0;
  readonly #stepBytes: number;
  /** Of the step that is added: how messages call it, and where it is. */
  #what = "step";
  #place: Place = {};

  /** @param room steps that there will probably be */
  constructor(spec: StepSpec, room = 64) {
    this.#leaves = leavesOf(spec);
    this.#targets = this.#leaves.map(({ leaf: { dtype, shape }, size }) => ({ dtype, shape, size }));
    this.#visit = visitor(
      spec,
      (column) => (value) => this.#put(column, value),
      (_, keys, rule, value) => this.#refused(keys, rule, value),
    );
    this.#room = Math.max(room, 1);
    this.#stepBytes = this.#leaves.reduce((sum, { leaf, size }) => sum + (isText(leaf) ? 0 : size * DTYPES[leaf.dtype].bytes), 0);
    this.#columns = this.#empty();
  }

  get length(): number {
    return this.#length;
  }

  /** Of what was collected, about. */
  get bytes(): number {
    return this.#length * this.#stepBytes + this.#textBytes;
  }

  /** @param what is added, as a message calls it @throws RldsError SPEC_MISMATCH, with the place and the leaf's path */
  add(step: unknown, place: Place = {}, what = "step"): void {
    if (this.#length === this.#room) this.#grow();
    this.#place = place;
    this.#what = what;
    this.#visit(step);
    this.#length++;
  }

  /** What was collected; it begins anew. */
  take(): { readonly data: ColumnData[]; readonly length: number } {
    const length = this.#length;
    const data = this.#columns.map((column, i): ColumnData => {
      const size = (this.#leaves[i] as FoundLeaf).size * length;
      return Array.isArray(column) ? column.slice(0, size) : (column as Numbered).slice(0, size);
    });
    this.#columns = this.#empty();
    this.#length = 0;
    this.#textBytes = 0;
    return { data, length };
  }

  #empty(): (AnyArray | (string | Uint8Array)[])[] {
    return this.#leaves.map(({ leaf, size }) => (isText(leaf) ? [] : (zeros(leaf.dtype, size * this.#room) as AnyArray)));
  }

  #grow(): void {
    this.#room *= 2;
    this.#columns = this.#columns.map((column, i) => {
      if (Array.isArray(column)) return column;
      const { leaf, size } = this.#leaves[i] as FoundLeaf;
      const larger = zeros(leaf.dtype as Dtype, size * this.#room) as unknown as Numbered;
      larger.set(column as Numbered);
      return larger as AnyArray;
    });
  }

  #put(column: number, value: unknown): void {
    const target = this.#targets[column] as LeafTarget;
    const to = this.#columns[column] as Numbered;
    const from = this.#length * target.size;
    const misfit = put(target, to, from, value, DATA);
    if (misfit !== undefined) throw this.#refused((this.#leaves[column] as FoundLeaf).keys, misfit.rule, misfit.value);
    if (!ArrayBuffer.isView(to)) for (let i = from; i < from + target.size; i++) this.#textBytes += (to as readonly string[])[i]?.length ?? 0;
  }

  #refused(keys: readonly string[], rule: string, value: unknown): RldsError {
    return new RldsError("SPEC_MISMATCH", mustBe(TypeError, keys.join("/") || this.#what, rule, value).message, this.#place);
  }
}
