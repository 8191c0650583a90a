/** Computes data outside the core: the mask, the keys after the end of a short batch, and the weights and arrays of a batch that was drawn in parts. */

import { LENGTH } from "../base/abi.ts";
import type { AnyArray } from "../schema/dtype.ts";
import { columnOf } from "./batch.ts";
import type { BatchBuffer } from "./buffer.ts";
import { type BatchLayout, type Field, WEIGHTS } from "./layout.ts";

/** Writes 1 for each step of the drawn items, and 0 for padding. */
export function fillMask(buffer: BatchBuffer, count: number): void {
  const { width, fields } = buffer.layout;
  const field = fieldAt(buffer.layout, "mask");
  if (fields[field] === undefined) return;
  const { core } = buffer.engine;
  const mask = buffer.bytesOf(field);
  const lengths = buffer.draw.address(LENGTH) / 4;
  for (let i = 0, to = buffer.startOf(field); i < count; i++) for (let t = 0; t < width; t++) mask[to++] = Number(t < (core.u32[lengths + i] as number));
}

/** Sets the keys after the last item to 0, which is never a key. Otherwise an update with the whole array would change items of an earlier draw. */
export function clearKeys(buffer: BatchBuffer, count: number): void {
  const { batch, lease } = buffer;
  const keys = lease === undefined ? (batch as unknown as { readonly keys: unknown }).keys : columnOf(lease, lease.layout.columns.length - 1);
  (keys as Float64Array).fill(0, count);
}

/** A part of a batch: its buffer and its number of items. */
interface Part {
  readonly buffer: BatchBuffer;
  readonly count: number;
}

/**
 * Copies the arrays of parts one after the other into a batch. If a part has fewer elements per item than the batch, pads each of its items.
 * @param divide whether to divide all weights by the largest weight
 */
export function concat(whole: BatchBuffer, parts: readonly Part[], divide: boolean): void {
  const { fields, holds } = whole.layout;
  for (const [i, { path, each }] of fields.entries()) {
    const to = { data: whole.array(i), each };
    let at = 0;
    for (const { buffer, count } of parts) {
      const field = buffer.layout.fields.findIndex((one) => one.path === path);
      copyRows(to, { data: buffer.array(field), each: (buffer.layout.fields[field] as Field).each }, at, count);
      at += count;
    }
    if (divide && holds & WEIGHTS && isWeights(fields[i] as Field)) normalize(to.data as AnyArray, at);
  }
}

/** Records how the windows of a batch that was drawn in parts were read. */
export function joinWindows(whole: BatchBuffer, parts: readonly Part[]): void {
  const { windows } = (parts[0] as Part).buffer;
  Object.assign(whole.windows, windows, { width: Math.max(...parts.map(({ buffer }) => buffer.windows.width)) });
  if (windows.starts === undefined) return;
  const starts = new Uint32Array(whole.layout.n);
  let at = 0;
  for (const { buffer, count } of parts) {
    starts.set((buffer.windows.starts as Uint32Array).subarray(0, count), at);
    at += count;
  }
  whole.windows.starts = starts;
}

interface Rows {
  readonly data: AnyArray | readonly string[];
  /** The number of elements per item. */
  readonly each: number;
}

function copyRows(to: Rows, from: Rows, at: number, count: number): void {
  // Items with equal widths on both sides are copied in one piece.
  const [runs, each] = to.each === from.each ? [1, count * from.each] : [count, Math.min(to.each, from.each)];
  for (let k = 0; k < runs; k++) {
    const [target, source] = [(at + k) * to.each, k * from.each];
    if (Array.isArray(from.data)) for (let i = 0; i < each; i++) (to.data as string[])[target + i] = from.data[source + i] as string;
    else (to.data as Float64Array).set((from.data as Float64Array).subarray(source, source + each), target);
    if (to.each <= from.each) continue;
    if (Array.isArray(to.data)) to.data.fill("", target + each, target + to.each);
    else (to.data as Float64Array).fill(0, target + each, target + to.each);
  }
}

/** Divides the first n weights by the largest of them. */
function normalize(weights: AnyArray, n: number): void {
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, weights[i] as number);
  for (let i = 0; i < n; i++) weights[i] = (weights[i] as number) / largest;
}

/** Returns the number of the array of a column that has a single array; -1 if the batch has no such column. */
function fieldAt({ columns }: BatchLayout, name: string): number {
  return columns.find((column) => column.name === name)?.fields[0] ?? -1;
}

const isWeights = ({ source, keys }: Field): boolean => source === "draw" && keys.at(-1) === "weights";
