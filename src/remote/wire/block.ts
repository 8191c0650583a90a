/** A block: many steps on their way, a column a leaf, in one buffer that goes there and comes back. Behind the columns is a byte a row for what ends. */
import { ENDS } from "../../base/abi.ts";
import { DTYPES } from "../../schema/dtype.ts";
import { alignUp, type PlacedLeaf } from "../../schema/layout.ts";
import { readTexts } from "../../schema/text.ts";
import type { BlockMessage, ColumnsMessage } from "./messages.ts";

/** What happens between two steps: numbers in the message, so many each; the first is the number of the slot that comes next. */
export const CALL = 7;
/** Slot, ITEM, table, length, priority, lane, columns + 1 (0 without). */
export const ITEM = 0;
/** In the place of an item's priority: "max". */
export const LARGEST_PRIORITY = -1;
/** Slot, END, lane + 1 (0 for all), terminated + 1 (0 where it is not said), whether the slot has the final step: in its first row. */
export const END = 1;
/** Slot, DISCARD, lane + 1 (0 for all). */
export const DISCARD = 3;
/** Slot, FLAGS, how many final steps: the step of several lanes in the slot ends some of them, as their bytes say; the final steps are in the next slot. */
export const FLAGS = 2;

/** Where things are in a block of so many slots; a slot has a row for each lane. */
export interface BlockLayout {
  readonly slots: number;
  readonly lanes: number;
  readonly leaves: readonly PlacedLeaf[];
  /** Of each leaf's column. */
  readonly offsets: readonly number[];
  readonly flags: number;
  readonly bytes: number;
}

export function blockLayout(leaves: readonly PlacedLeaf[], lanes: number, slots: number): BlockLayout {
  let at = 0;
  const offsets = leaves.map(({ arrayBytes }) => {
    const offset = at;
    at = alignUp(at + arrayBytes * lanes * slots, 8);
    return offset;
  });
  return { slots, lanes, leaves, offsets, flags: at, bytes: alignUp(at + lanes * slots, 16) };
}

/** A block's columns from one slot on, of so many rows, one a leaf. @param base where the block begins */
export function columnsOf({ lanes, leaves, offsets }: BlockLayout, buffer: ArrayBuffer, base: number, slot: number, rows: number): unknown[] {
  return leaves.map((leaf, i) => columnAt(leaf, buffer, base + (offsets[i] as number) + slot * lanes * leaf.arrayBytes, rows));
}

/** A leaf's column of so many rows; texts are read out. */
export function columnAt({ leaf, size }: PlacedLeaf, buffer: ArrayBuffer, at: number, rows: number): unknown {
  if (leaf.dtype !== "string") return new DTYPES[leaf.dtype].array(buffer, at, rows * size);
  const texts: string[] = [];
  readTexts(new Uint8Array(buffer), at, leaf.maxBytes, texts, rows * size);
  return texts;
}

/** Bytes of one row as columns have it: of one step of one lane. */
export function rowBytesOf(leaves: readonly PlacedLeaf[]): number {
  return leaves.reduce((sum, { arrayBytes }) => sum + arrayBytes, 0);
}

/**
 * What a block or columns count toward `inFlightBytes`, at both ends: its frame, or its rows where those are more, since frames that cross once are written out when they arrive.
 */
export function creditBytes(message: BlockMessage | ColumnsMessage, frameBytes: number, lanes: number, rowBytes: number): number {
  const rows = message.kind === "block" ? message.used * lanes : message.rows + message.finals;
  return Math.max(frameBytes, rows * rowBytes);
}

/** Whether a row that ends so has a final step, by its byte of placeEnds. */
export function endsWithFinal(how: number): boolean {
  return how > ENDS;
}
