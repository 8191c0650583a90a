/**
 * Defines a block: many steps in one buffer, one column per leaf, which is sent and returned. After the columns, each row has one byte for the end of its
 * episode.
 */
import { ENDS } from "../../base/abi.ts";
import { DTYPES } from "../../schema/dtype.ts";
import { alignUp, type PlacedLeaf } from "../../schema/layout.ts";
import { readTexts } from "../../schema/text.ts";
import type { BlockMessage, ColumnsMessage } from "./messages.ts";

/** The count of numbers that encode a call between two steps. The first of them is the index of the slot that follows the call. */
export const CALL = 7;
/** Creates an item. The numbers of the call: slot, ITEM, table, length, priority, lane, columns + 1 (0 for no columns). */
export const ITEM = 0;
/** The number that denotes the priority "max" of an item. */
export const LARGEST_PRIORITY = -1;
/**
 * Ends an episode. The numbers of the call: slot, END, lane + 1 (0 for all), terminated + 1 (0 if not passed), 1 if the slot has the final step in its first
 * row.
 */
export const END = 1;
/** Discards an episode. The numbers of the call: slot, DISCARD, lane + 1 (0 for all). */
export const DISCARD = 3;
/**
 * Ends the episodes of some lanes with the step in this slot. The numbers of the call: slot, FLAGS, number of final steps. The slot's bytes identify the lanes,
 * and the final steps are in the next slot.
 */
export const FLAGS = 2;

/** The offsets in a block of `slots` slots. A slot has one row per lane. */
export interface BlockLayout {
  readonly slots: number;
  readonly lanes: number;
  readonly leaves: readonly PlacedLeaf[];
  /** The offset of each leaf's column. */
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

/** Returns a block's columns of `rows` rows from a slot on, one per leaf. @param base the offset of the block */
export function columnsOf({ lanes, leaves, offsets }: BlockLayout, buffer: ArrayBuffer, base: number, slot: number, rows: number): unknown[] {
  return leaves.map((leaf, i) => columnAt(leaf, buffer, base + (offsets[i] as number) + slot * lanes * leaf.arrayBytes, rows));
}

/** Returns a leaf's column of `rows` rows, with texts decoded. */
export function columnAt({ leaf, size }: PlacedLeaf, buffer: ArrayBuffer, at: number, rows: number): unknown {
  if (leaf.dtype !== "string") return new DTYPES[leaf.dtype].array(buffer, at, rows * size);
  const texts: string[] = [];
  readTexts(new Uint8Array(buffer), at, leaf.maxBytes, texts, rows * size);
  return texts;
}

/** Returns the number of bytes of one row in columns: one step of one lane. */
export function rowBytesOf(leaves: readonly PlacedLeaf[]): number {
  return leaves.reduce((sum, { arrayBytes }) => sum + arrayBytes, 0);
}

/**
 * Returns the number of bytes that a block or columns count toward `inFlightBytes`, at both ends: the bytes of the frame, or of the rows if the rows are
 * larger, since shared frames are expanded on arrival.
 */
export function creditBytes(message: BlockMessage | ColumnsMessage, frameBytes: number, lanes: number, rowBytes: number): number {
  const rows = message.kind === "block" ? message.used * lanes : message.rows + message.finals;
  return Math.max(frameBytes, rows * rowBytes);
}

/** Returns whether a row has a final step, from its byte of placeEnds. */
export function endsWithFinal(how: number): boolean {
  return how > ENDS;
}
