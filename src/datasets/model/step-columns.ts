/** Stores the steps of one episode as whole columns. Readers fill the columns, and iterating over the steps is fast. */
import { isLeaf, isText, sizeOf } from "../../schema/leaf.ts";
import { pack, setPart } from "../../schema/nest.ts";
import type { ColumnData } from "./column-data.ts";
import type { AnyValue, RldsStep, StepLeaf, StepSpec } from "./dataset.ts";
import { isLazy, wholeColumn } from "./lazy-column.ts";
import { type LeafEntry, leavesOf } from "./leaves.ts";

export type { ColumnData };

/** Returns the elements of a column from index `from` up to, but not including, `to`, as a view of numbers or a new list of texts. */
export function slicedColumn(data: ColumnData, from: number, to: number): ColumnData {
  return Array.isArray(data) ? data.slice(from, to) : (data as Float32Array).subarray(from, to);
}

/** A column of steps and its shape. The first dimension is time. */
export interface StepColumn {
  readonly data: ColumnData;
  readonly shape: readonly number[];
}

/**
 * A sequence of steps that are created on access. A leaf of shape [] is a number, boolean, bigint (i64, u64) or text. Any other leaf is a typed array that is a
 * view of its column. Copy the array before you change it. Each step costs O(leaves).
 */
export class StepColumns<S = RldsStep> implements Iterable<S> {
  readonly spec: StepSpec;
  readonly length: number;
  readonly #leaves: readonly LeafEntry[];
  readonly #data: readonly ColumnData[];
  readonly #make: StepFactory;

  /** Creates a sequence of steps from columns. @param data one column per leaf, in the order of the spec's leaves, each with `length` values */
  constructor(spec: StepSpec, data: readonly ColumnData[], length: number) {
    this.spec = spec;
    this.length = length;
    this.#leaves = leavesOf(spec);
    this.#data = data;
    this.#leaves.forEach(({ path, size }, i) => {
      const actual = data[i]?.length;
      if (actual !== size * length) throw new RangeError(`column ${path} must have ${size} × ${length} elements, got ${actual}`);
    });
    this.#make = createStepFactory(spec, data[Symbol.iterator]());
  }

  /** The columns, nested like the spec. The data of a lazy column is read on access. */
  get columns(): AnyValue {
    const { data } = this;
    const columns = this.#leaves.map(({ leaf }, i): StepColumn => {
      const shape = [this.length, ...leaf.shape];
      if (!isLazy(this.#data[i])) return { data: data[i] as ColumnData, shape };
      return {
        get data() {
          return data[i] as ColumnData;
        },
        shape,
      };
    });
    return pack(this.spec, columns);
  }

  /**
   * The columns, one per leaf, in the order of the spec's leaves. A lazy column is read completely on access.
   * @throws RldsError UNSUPPORTED if a column takes too much memory
   */
  get data(): readonly ColumnData[] {
    if (!this.#data.some(isLazy)) return this.#data;
    const columns: ColumnData[] = [];
    for (const [i, column] of this.#data.entries()) Object.defineProperty(columns, i, { enumerable: true, get: () => wholeColumn(column) });
    return columns;
  }

  /** The columns as they are stored. A lazy column can be read in pieces. */
  get parts(): readonly ColumnData[] {
    return this.#data;
  }

  /** Returns step i. @throws RangeError if the step does not exist */
  at(i: number): S {
    if (!(i >= 0 && i < this.length)) throw new RangeError(`step must be in 0 … ${this.length - 1}, got ${i}`);
    return this.#make(i) as S;
  }

  *[Symbol.iterator](): Generator<S, void, undefined> {
    for (let i = 0; i < this.length; i++) yield this.#make(i) as S;
  }
}

type StepFactory = (i: number) => unknown;

/** Returns the function that creates step i. It consists of one function per node of the spec, so creating a step does not inspect the spec again. */
function createStepFactory(spec: StepSpec, data: Iterator<ColumnData>): StepFactory {
  if (isLeaf(spec)) return createLeafFactory(spec, data.next().value as ColumnData);
  if (Array.isArray(spec)) {
    const parts = spec.map((node) => createStepFactory(node, data));
    return (i) => parts.map((part) => part(i));
  }
  const names = Object.keys(spec).sort();
  const parts = names.map((name) => createStepFactory((spec as { readonly [name: string]: StepSpec })[name] as StepSpec, data));
  return (i) => {
    const step = {};
    for (let k = 0; k < names.length; k++) setPart(step, names[k] as string, (parts[k] as StepFactory)(i));
    return step;
  };
}

function createLeafFactory(leaf: StepLeaf, data: ColumnData): StepFactory {
  const { dtype, shape } = leaf;
  if (shape.length === 0) return dtype === "bool" ? (i) => data[i] === 1 : (i) => data[i];
  const size = sizeOf(shape);
  if (isText(leaf)) return (i) => data.slice(i * size, (i + 1) * size);
  const array = data as Float32Array;
  return (i) => array.subarray(i * size, (i + 1) * size);
}
