/** Describes the leaves of a transition, and how their values are stored and returned. */
import type { NumberArray } from "../../schema/dtype.ts";
import { type ObjectLeaf, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import type { Nest } from "../../schema/nest.ts";

/** A leaf as rows store it, with the information that is needed to return its values in their original form. */
export type PartLeaf = RowLeaf & {
  /** The number of leading dimensions that are nested arrays. The innermost values are typed arrays, or plain numbers if no dimension is left. */
  readonly nest?: number;
  /** Whether the values are plain numbers, which have no dtype. */
  readonly plain?: boolean;
};

/** The form of states, actions and extras: leaves, nested in objects and arrays. */
export type PartSpec = Nest<RowLeaf | ObjectLeaf>;

/**
 * Returns a function that reads a value of a leaf in its original form. The value begins at the element `at` of a column.
 * @param views whether the function returns views of typed arrays, rather than copies
 */
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
