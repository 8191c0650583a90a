/** The leaves of a transition: which value is kept as what, and how it is given back. */
import type { NumberArray } from "../../schema/dtype.ts";
import { type ObjectLeaf, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import type { Nest } from "../../schema/nest.ts";

/** A leaf as it is kept. */
export type PartLeaf = RowLeaf & {
  /** So many leading dimensions are given, and given back, as arrays in arrays; what is in them are typed arrays, or plain numbers where no dimension is left. */
  readonly nest?: number;
  /** The values are plain numbers, without a dtype of their own. */
  readonly plain?: boolean;
};

/** What states, actions and extras may be: leaves, nested in objects and arrays. */
export type PartSpec = Nest<RowLeaf | ObjectLeaf>;

/** Gives back values of a leaf as they were given: from an element of a column on. @param views of typed arrays, in the place of copies */
export function valueReader(leaf: PartLeaf, views = false): (data: NumberArray, at: number) => unknown {
  const dims = shapeOf(leaf);
  const { dtype, nest = leaf.stack === undefined ? 0 : 1 } = leaf;
  const single = (data: NumberArray, at: number): unknown => (dtype === "bool" ? (data[at] as number) !== 0 : data[at]);
  const depth = Math.min(nest, dims.length);
  const inner = dims.slice(depth);
  const size = sizeOf(inner);
  let read = inner.length === 0 ? single : (data: NumberArray, at: number): unknown => (views ? data.subarray(at, at + size) : data.slice(at, at + size));
  let itemSize = size;
  for (let d = depth - 1; d >= 0; d--) {
    const [below, step, n] = [read, itemSize, dims[d] as number];
    read = (data, at) => Array.from({ length: n }, (_, i) => below(data, at + i * step));
    itemSize *= n;
  }
  return read;
}
