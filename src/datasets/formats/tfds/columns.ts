/** Reads a feature of the steps as one column per episode. */

import { sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import { type Decoding, itemsOf } from "./items.ts";
import { integersOf } from "./lists.ts";
import { matchesShape, shapeError } from "./shapes.ts";
import { isDynamic, type StoredLeaf } from "./stored-leaf.ts";

export interface LeafColumn {
  readonly data: ColumnData;
  /** The number of steps. Undefined if the values do not determine it. */
  readonly length?: number;
  /** The complete shape of one step's value. A length is null if there is no value that determines it. */
  readonly shape: Dimensions;
}

/**
 * Reads a leaf of the steps as a column. @param expectedShape the shape of a step's value, beginning with the lengths of its sequences
 * @throws RldsError CORRUPT if the record is damaged · UNSUPPORTED if values have different shapes
 */
export function columnOf(example: Example, leaf: StoredLeaf, expectedShape: Dimensions, decoding: Decoding): LeafColumn {
  const depth = leaf.lengths.length;
  const [lengths, length] = depth === 0 ? [[], undefined] : rowsOf(example, leaf, expectedShape.slice(0, depth));
  const items = itemsOf(example, leaf, valuesKey(leaf), expectedShape.slice(depth), decoding);
  const shape = [...lengths, ...items.shape];
  if (!matchesShape(expectedShape, shape)) throw shapeError(example, leaf, expectedShape, shape);
  if (depth === 0) return { data: items.data, length: items.count, shape };
  const expected = (length as number) * sizeOf(lengths.map((length) => length ?? 0));
  if (items.count !== undefined && items.count !== expected)
    throw example.corruptError(`feature ${leaf.key} must have ${expected} values, as its row lengths state, got ${items.count}`);
  return { data: items.data, length, shape };
}

/** Returns the key of a leaf's values in the record. */
export function valuesKey(leaf: StoredLeaf): string {
  if (isDynamic(leaf)) return `${leaf.key}/value`;
  return leaf.lengths.length + (leaf.inSteps ? 1 : 0) < 2 ? leaf.key : `${leaf.key}/ragged_flat_values`;
}

/**
 * Returns the lengths of the nested sequences, level by level, and the number of steps, which is the length of the first level. All rows of a level must have
 * the same length.
 */
function rowsOf(example: Example, leaf: StoredLeaf, expectedShape: Dimensions): [Dimensions, number] {
  let expected: number | undefined;
  let steps = 0;
  const lengths = expectedShape.map((length, level) => {
    const rows = integersOf(example, `${leaf.key}/ragged_row_lengths_${level}`, "u32");
    if (level === 0) steps = rows.length;
    else if (rows.length !== expected)
      throw example.corruptError(`feature ${leaf.key} must have ${expected} row lengths on level ${level}, got ${rows.length}`);
    const first = length ?? rows[0] ?? null;
    const otherRow = rows.find((row) => row !== first);
    const withRow = (row: number | null) => expectedShape.map((length, d) => (d === level ? row : length));
    if (otherRow !== undefined) throw shapeError(example, leaf, withRow(first), withRow(otherRow));
    expected = rows.length * (first ?? 0);
    return first;
  });
  return [lengths, steps];
}
