/** Batches of mixtures: which row came from which source, and which item it has. */

import { mustBe } from "../../base/error.ts";
import type { Numbers } from "../../schema/copy-numbers.ts";
import type { BatchBuffer } from "../buffer.ts";
import type { Field } from "../layout.ts";

/** The number of the array that tells the source of each row. */
export function sourceField({ layout }: BatchBuffer): number {
  const { fields } = layout;
  for (let i = 0; i < fields.length; i++) {
    const { keys } = fields[i] as Field;
    if (keys[keys.length - 1] === "source" && (keys.length === 1 || keys[0] === "info")) return i;
  }
  return -1;
}

/** The keys of a batch's items: under their name in transitions, below `info` in items. @throws TypeError for what is no batch of a mixture */
export function keysOf(batch: object): Numbers {
  if (typeof batch !== "object" || batch === null) throw notMixed(batch);
  const { info } = batch as MixedColumns;
  const keys = info === undefined ? (batch as MixedColumns).keys : info.keys;
  if (keys === undefined) throw notMixed(batch);
  return keys;
}

/** The number of the source of each. @throws TypeError */
export function sourceIn(batch: object): ArrayLike<number> {
  const { info } = batch as MixedColumns;
  const source = info === undefined ? (batch as MixedColumns).source?.data : info.source;
  if (source === undefined) throw notMixed(batch);
  return source;
}

export interface MixedColumns {
  readonly count: number;
  readonly keys?: Numbers;
  readonly source?: { readonly data: Uint8Array };
  readonly info?: { readonly keys?: Numbers; readonly source?: Uint8Array; readonly timesSampled?: Uint32Array };
}

function notMixed(batch: unknown): Error {
  return mustBe(TypeError, "batch", "a batch of this mixture, with the columns keys and source", batch);
}

/** Behind the rows of one source, from `from` on. */
export function runEnd(source: ArrayLike<number>, from: number, count: number): number {
  let to = from + 1;
  while (to < count && source[to] === source[from]) to++;
  return to;
}
