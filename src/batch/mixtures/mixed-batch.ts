/** Reads batches of mixtures: the source and the item of each row. */

import { mustBe } from "../../base/error.ts";
import type { Numbers } from "../../schema/copy-numbers.ts";
import type { BatchBuffer } from "../buffer.ts";
import type { Field } from "../layout.ts";

/** Returns the number of the array with the source of each row; -1 if there is none. */
export function sourceField({ layout }: BatchBuffer): number {
  const { fields } = layout;
  for (let i = 0; i < fields.length; i++) {
    const { keys } = fields[i] as Field;
    if (keys[keys.length - 1] === "source" && (keys.length === 1 || keys[0] === "info")) return i;
  }
  return -1;
}

/** Returns the keys of a batch's items: `keys` in transitions, `info.keys` in items. @throws TypeError if it is not a batch of a mixture */
export function keysOf(batch: object): Numbers {
  if (typeof batch !== "object" || batch === null) throw notMixed(batch);
  const { info } = batch as MixedColumns;
  const keys = info === undefined ? (batch as MixedColumns).keys : info.keys;
  if (keys === undefined) throw notMixed(batch);
  return keys;
}

/** Returns the source number of each row. @throws TypeError if it is not a batch of a mixture */
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

/** Returns the end of the run of rows from one source that begins at `from`. */
export function runEnd(source: ArrayLike<number>, from: number, count: number): number {
  let to = from + 1;
  while (to < count && source[to] === source[from]) to++;
  return to;
}
