/** Describes a dataset as a reader sees it, in the format of test/data/tfds/expected.json. */

import { leavesOf } from "../../src/datasets/model/leaves.ts";
import type { RldsReader } from "../../src/datasets/rlds/index.ts";
import { isText } from "../../src/schema/leaf.ts";
import { crc32 } from "./crc32.ts";
import { NUMPY } from "./numpy-dtypes.ts";

const NAMES: { readonly [dtype: string]: string } = { ...NUMPY, string: "string", bytes: "string" };

export interface FoundColumn {
  readonly dtype: string;
  readonly shape?: readonly number[];
  crc32: number;
  sum?: number;
  first?: (number | boolean)[];
}

export interface Found {
  episodes: number;
  steps: number;
  readonly lengths: number[];
  mean_return: number;
  readonly columns: { [path: string]: FoundColumn };
}

/** Reads a dataset once, column by column. */
export async function foundIn(reader: RldsReader): Promise<Found> {
  const found: Found = { episodes: 0, steps: 0, lengths: [], mean_return: 0, columns: {} };
  const leaves = leavesOf(reader.stepSpec);
  for (const { path, leaf } of leaves) {
    const dtype = NAMES[leaf.dtype] as string;
    found.columns[path] = isText(leaf) ? { dtype, crc32: 0 } : { dtype, shape: leaf.shape, crc32: 0, sum: 0 };
  }
  let returns = 0;
  for await (const { steps } of reader) {
    leaves.forEach(({ path, leaf, size }, i) => {
      const column = found.columns[path] as FoundColumn;
      const data = steps.data[i] as Float32Array;
      if (isText(leaf)) {
        const text = (found.steps > 0 ? "\n" : "") + (data as unknown as string[]).join("\n");
        column.crc32 = crc32(new TextEncoder().encode(text), column.crc32);
        return;
      }
      column.crc32 = crc32(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), column.crc32);
      for (const value of data) column.sum = (column.sum as number) + Number(value);
      column.first ??= Array.from(data.subarray(0, Math.min(4, size)), (value) => (leaf.dtype === "bool" ? value === 1 : Number(value)));
      if (path === "reward") for (const value of data) returns += value;
    });
    found.episodes++;
    found.lengths.push(steps.length);
    found.steps += steps.length;
  }
  found.mean_return = returns / found.episodes;
  return found;
}
