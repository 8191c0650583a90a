/** Tests episodes that arrive in row groups: the columns must contain exactly the received rows, whatever length was announced. */
import { expect, it } from "vitest";
import { EpisodeBuffer } from "../../../../../src/datasets/formats/parquet/episode-buffer.ts";
import type { StepSpec } from "../../../../../src/datasets/model/dataset.ts";
import { isLazy } from "../../../../../src/datasets/model/lazy-column.ts";
import type { ColumnData } from "../../../../../src/datasets/model/step-columns.ts";
import { TestRandom } from "../../../../support/random.ts";

const ROWS = 70_000;
const spec = [
  { dtype: "f64", shape: [] },
  { dtype: "i64", shape: [1] },
  { dtype: "u8", shape: [] },
  { dtype: "f32", shape: [2] },
  { dtype: "string", shape: [] },
] as unknown as StepSpec;
const SIZES = [1, 1, 1, 2, 1];

const episode = (from: number, rows: number): ColumnData[] => [
  Float64Array.from({ length: rows }, (_, i) => from + i + 0.5),
  BigInt64Array.from({ length: rows }, (_, i) => BigInt(from + i)),
  Uint8Array.from({ length: rows }, (_, i) => (from + i) % 251),
  Float32Array.from({ length: 2 * rows }, (_, i) => from + i),
  Array.from({ length: rows }, (_, i) => `${from + i}`),
];

it.each([
  ["nothing", () => 0],
  ["all that follows", (following: number) => following],
  ["far too much", () => 2 ** 40],
  ["something else", (following: number) => following >> 1],
])("returns the pushed rows when %s is announced to follow", (_, said) => {
  const random = new TestRandom(5);
  const buffer = new EpisodeBuffer<unknown>(spec, 2 ** 30);
  // A short episode must not contain rows of a longer previous one.
  for (const [from, rows] of [
    [0, ROWS],
    [ROWS, 10],
    [7, ROWS + 3],
  ] as const) {
    const columns = episode(from, rows);
    for (let at = 0; at < rows; ) {
      const to = Math.min(rows, at + 1 + random.below(9000));
      const piece = columns.map((column, k) => column.slice(at * (SIZES[k] as number), to * (SIZES[k] as number)) as ColumnData);
      buffer.push(piece, 0, to - at, "a.parquet", said(rows - to));
      at = to;
    }
    const { data, parts, length } = buffer.take();
    expect(length).toBe(rows);
    expect(parts.slice(0, 3).some(isLazy)).toBe(false);
    for (const [k, column] of columns.entries()) {
      expect(data[k]?.length).toBe(column.length);
      expect(column.every((value, i) => data[k]?.[i] === value)).toBe(true);
    }
  }
});
