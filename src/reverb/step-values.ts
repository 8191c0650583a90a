/** Checks and copies the values of single steps, and puts them into chunks. */
import { mustBe } from "../base/error.ts";
import { mustPut } from "../schema/copy-values.ts";
import { type AnyArray, type NumberArray, zeros } from "../schema/dtype.ts";
import { type MeasuredLeaf, measureLeaves, type PlacedLeaf } from "../schema/layout.ts";
import type { FoundLeaf } from "../schema/spec.ts";
import { utf8Bytes } from "../schema/text.ts";
import { sizeOfData, writeTensor } from "./tensors/tensors.ts";
import type { ChunkMessage, TensorMessage } from "./wire/tensor.ts";

/** Returns the layout of leaves for steps that are not stored as rows in this process. */
export function placeLeaves(leaves: readonly FoundLeaf[]): PlacedLeaf[] {
  return measureLeaves(leaves).map((leaf) => ({ ...leaf, kind: 0, offset: 0, staged: 0 }));
}

/** The value of a leaf in one step. */
export type StepValue = AnyArray | string[];

/**
 * Returns a checked copy of a leaf's value. @throws ReplayError SPEC_MISMATCH if the value has another form · INVALID_DATA if the value does not fit its dtype,
 * or if a text is too long
 */
export function stepValue({ leaf, keys, shape, size }: MeasuredLeaf, input: unknown): StepValue {
  const { dtype } = leaf;
  const target = { dtype, shape, size };
  if (dtype !== "string") {
    const value = zeros(dtype, size);
    mustPut(target, value as unknown as NumberArray, 0, input, keys);
    return value;
  }
  const texts: string[] = [];
  mustPut(target, texts as unknown as NumberArray, 0, input, keys);
  const long = texts.find((text) => utf8Bytes(text) > leaf.maxBytes);
  if (long !== undefined)
    throw mustBe("INVALID_DATA", keys.join(".") || "step", `a string of at most ${leaf.maxBytes} bytes in UTF-8 (the maxBytes of its leaf)`, long);
  return texts;
}

/** Returns the values of several consecutive steps as one value. */
export function stepsValue(values: readonly StepValue[]): StepValue {
  const [first] = values as readonly [StepValue];
  if (values.length === 1) return first;
  if (Array.isArray(first)) return (values as readonly string[][]).flat();
  const size = first.length;
  const all = new (first.constructor as new (length: number) => Float64Array)(values.length * size);
  for (let i = 0; i < values.length; i++) all.set(values[i] as unknown as Float64Array, i * size);
  return all;
}

/** One leaf of a chunk. */
export interface ChunkColumn {
  readonly leaf: MeasuredLeaf;
  /** One value per step. */
  readonly values: readonly StepValue[];
}

/** Returns a chunk of some leaves with the same steps. @param at the number of the first step in its episode */
export function chunkOf(key: bigint, episodeId: bigint, at: number, columns: readonly ChunkColumn[], deltaEncoded = false): ChunkMessage {
  let uncompressedSize = 0;
  const [{ values: first }] = columns as readonly [ChunkColumn];
  const tensors = columns.map(({ leaf, values }): TensorMessage => {
    const data = stepsValue(values);
    uncompressedSize += sizeOfData(leaf.leaf.dtype, data);
    return writeTensor(leaf.leaf.dtype, [values.length, ...leaf.shape], data, deltaEncoded);
  });
  return { key, episodeId, start: at, end: at + first.length - 1, sparse: false, deltaEncoded, tensors, uncompressedSize };
}
