/** The steps of one episode as whole columns: what a reader fills, and what is quick to go through. */
import { isLeaf, isText, sizeOf } from "../../schema/leaf.ts";
import { pack, setPart } from "../../schema/nest.ts";
import type { ColumnData } from "./column-data.ts";
import type { AnyValue, RldsStep, StepLeaf, StepSpec } from "./dataset.ts";
import { isLazy, wholeColumn } from "./lazy-column.ts";
import { type LeafEntry, leavesOf } from "./leaves.ts";

export type { ColumnData };

/** Elements from … to - 1 of a column: a view, or a list of its own of text. */
export function slicedColumn(data: ColumnData, from: number, to: number): ColumnData {
  return Array.isArray(data) ? data.slice(from, to) : (data as Float32Array).subarray(from, to);
}

/** A column with its shape: time first. */
export interface StepColumn {
  readonly data: ColumnData;
  readonly shape: readonly number[];
}

/**
 * Steps that are made as they are asked for. A leaf of shape [] is a number, a boolean, a bigint (i64, u64) or a text; any other is a typed array that is
 * a view of its column: copy it to keep it beside changes. O(leaves) a step.
 */
export class StepColumns<S = RldsStep> implements Iterable<S> {
  readonly spec: StepSpec;
  readonly length: number;
  readonly #leaves: readonly LeafEntry[];
  readonly #data: readonly ColumnData[];
  readonly #make: StepFactory;

  /** @param data a column a leaf, in the order of the spec's leaves, of `length` values each */
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

  /** The columns, nested as the spec. One that is stored elsewhere is read when its data is asked for. */
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

  /** A column a leaf, in the order of the spec's leaves. One that is stored elsewhere is read when it is asked for, all of it. @throws RldsError UNSUPPORTED where that takes too much memory */
  get data(): readonly ColumnData[] {
    if (!this.#data.some(isLazy)) return this.#data;
    const columns: ColumnData[] = [];
    for (const [i, column] of this.#data.entries()) Object.defineProperty(columns, i, { enumerable: true, get: () => wholeColumn(column) });
    return columns;
  }

  /** The same, as they are stored: a column may be lazy, of which pieces are asked for alone. */
  get parts(): readonly ColumnData[] {
    return this.#data;
  }

  /** Step i. @throws RangeError */
  at(i: number): S {
    if (!(i >= 0 && i < this.length)) throw new RangeError(`step must be in 0 … ${this.length - 1}, got ${i}`);
    return this.#make(i) as S;
  }

  *[Symbol.iterator](): Generator<S, void, undefined> {
    for (let i = 0; i < this.length; i++) yield this.#make(i) as S;
  }
}

type StepFactory = (i: number) => unknown;

/** What makes step i, one function a node: no step looks at the spec. */
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
