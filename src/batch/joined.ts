/** Batches of several draws, one after the other in the arrays of one. */
import type { AnyArray } from "../schema/dtype.ts";

/** An array of a batch, and how many of its elements an item has. */
export interface Rows {
  readonly data: AnyArray | readonly string[];
  readonly each: number;
}

/** Copies the arrays of parts. An item that has fewer elements in its part than in the whole is padded. */
export function joinRows(whole: readonly Rows[], parts: readonly { readonly rows: readonly Rows[]; readonly count: number }[]): void {
  let at = 0;
  for (const { rows, count } of parts) {
    for (const [i, from] of rows.entries()) copyRows(whole[i] as Rows, from, at, count);
    at += count;
  }
}

function copyRows(to: Rows, from: Rows, at: number, count: number): void {
  // Items that are as wide in both are copied together.
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
export function normalize(weights: AnyArray, n: number): void {
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, weights[i] as number);
  for (let i = 0; i < n; i++) weights[i] = (weights[i] as number) / largest;
}
