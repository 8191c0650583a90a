/** Reads a feature of the episode as one metadata value. */

import { sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { valuesKey } from "./columns.ts";
import type { Example } from "./example.ts";
import { type Decoding, itemsOf, shapeIn } from "./items.ts";
import { integersOf } from "./lists.ts";
import { describeShape } from "./shapes.ts";
import type { LeafItems, StoredLeaf } from "./stored-leaf.ts";

/**
 * Returns the value of a feature. A value of shape [] is a number, boolean, bigint or text. A value with known lengths or a single row is flat. Any other value
 * consists of nested lists of typed arrays.
 * @throws RldsError CORRUPT if the record is damaged · UNSUPPORTED if values have different shapes
 */
export function metadataOf(example: Example, leaf: StoredLeaf, decoding: Decoding): unknown {
  const { key, lengths, feature } = leaf;
  const shape = shapeIn(feature, decoding);
  const items = itemsOf(example, leaf, valuesKey(leaf), shape, decoding);
  const rows = lengths.slice(1).map((_, level) => [...integersOf(example, `${key}/ragged_row_lengths_${level}`, "u32")]);
  checkRows(example, leaf, rows, items);
  const { data } = items;
  const declaredShape = [...lengths, ...shape];
  if (declaredShape.length === 0) return feature.kind === "numbers" && feature.type === "bool" ? data[0] === 1 : data[0];
  if (declaredShape.length === 1 || !declaredShape.includes(null)) return data;
  const top = rows.length > 0 ? (rows[0] as number[]).length : (items.count as number);
  const inner = items.shape as number[];
  const outer = lengths.length === 0 ? [] : [[top], ...rows];
  const listCount = outer.reduce((sum, level) => sum + level.length, 0) + sizeOf(inner.slice(0, -1)) * (items.count ?? 0);
  example.reserve(64 * listCount);
  return nestRows(data, outer, inner);
}

/** Checks that the number of values matches the lengths. */
function checkRows(example: Example, { key, lengths, feature }: StoredLeaf, rows: readonly (readonly number[])[], { count }: LeafItems): void {
  if (lengths.length === 0) {
    if (count !== undefined && count !== 1) throw example.corruptError(`feature ${key} must have one value, got ${count}`);
    return;
  }
  const shapeError = (level: number, actual: number | undefined) => {
    const expected = describeShape([...lengths, ...feature.shape]);
    return example.corruptError(
      `feature ${key} must have the shape ${expected}, but its lengths on level ${level} do not add up to the number of its values, ${actual}`,
    );
  };
  const totals = [...rows.map((level) => level.length), count];
  totals.forEach((total, level) => {
    const outerRows = level === 0 ? undefined : (rows[level - 1] as readonly number[]);
    if (outerRows !== undefined && total !== undefined && outerRows.reduce((sum, row) => sum + row, 0) !== total) throw shapeError(level, total);
    const declaredLength = lengths[level];
    const rowLengths = outerRows ?? (total === undefined ? [] : [total]);
    if (declaredLength !== null && rowLengths.some((row) => row !== declaredLength)) throw shapeError(level, total);
  });
}

/** Nests lists. Each row of the outer levels has its own length. */
function nestRows(data: ColumnData, outer: readonly (readonly number[])[], inner: readonly number[]): unknown {
  const cursors = outer.map(() => 0);
  const levels = outer.length + inner.length;
  let at = 0;
  const next = (level: number): unknown => {
    const row = cursors[level] ?? 0;
    cursors[level] = row + 1;
    const length = (level < outer.length ? outer[level]?.[row] : inner[level - outer.length]) as number;
    if (level < levels - 1) return Array.from({ length }, () => next(level + 1));
    at += length;
    return data.slice(at - length, at);
  };
  return next(0);
}
