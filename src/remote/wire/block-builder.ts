/** Fills a block with steps, one per slot and lane, and with the calls between them. */
import { ReplayError } from "../../base/error.ts";
import { type EpisodeEnds, placeColumn, placeEnds } from "../../memory/block.ts";
import { DTYPES } from "../../schema/dtype.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { type BlockLayout, blockLayout } from "./block.ts";
import type { BlockMessage } from "./messages.ts";

/** The approximate maximum numbers of bytes and slots of a block. They are large enough to make the overhead of a message small. */
const BLOCK_BYTES = 64 << 10;
const MAX_SLOTS = 1024;
/** The maximum number of bytes of a block's text (the Replay's end must have room for it), of its head, and of a call without columns. */
export const TEXT_BYTES = 1 << 16;
const HEAD_BYTES = 1024;
const CALL_BYTES = 64;
const MAX_COLUMNS_BYTES = TEXT_BYTES - HEAD_BYTES - CALL_BYTES;
/** The minimum number of blocks into which `maxInFlight` steps are divided, so that some buffers return while other blocks are filled. */
const BLOCKS = 4;

/** Up to this many bytes, a loop copies faster than a call to `set`. */
const SHORT = 128;

/** The source and the target of the copy of a leaf's staged value. */
interface LeafCopy {
  readonly bytes: Uint8Array;
  /** The length of the value in words, if the value is short and consists of words; otherwise 0. */
  readonly words: number;
  readonly from: number;
  readonly size: number;
  readonly to: number;
}

/** Returns the number of bytes of an item's columns in a block's text. @throws ReplayError UNSUPPORTED if the columns exceed a block's text */
export function columnsBytes(text: string): number {
  const bytes = new TextEncoder().encode(text).length + 1;
  if (bytes <= MAX_COLUMNS_BYTES) return bytes;
  throw new ReplayError(
    "UNSUPPORTED",
    `columns takes ${bytes} bytes as JSON, but an item of a remote writer can have at most ${MAX_COLUMNS_BYTES}. Use fewer columns, or shorter names`,
  );
}

export class BlockBuilder {
  readonly layout: BlockLayout;
  readonly #words: Int32Array;
  readonly #copies: readonly LeafCopy[];
  /** Returned buffers. */
  readonly #spare: ArrayBuffer[] = [];
  #block: { readonly buffer: ArrayBuffer; readonly words: Int32Array; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;
  #used = 0;
  #calls: number[] = [];
  #columns: object[] = [];
  /** An upper bound on the number of bytes of the calls so far. */
  #textBytes = 0;

  /** @param max the maximum number of steps in flight @param record the staged step, one per lane @param addresses the offset of each leaf in the record */
  constructor(leaves: readonly PlacedLeaf[], lanes: number, max: number, record: ArrayBuffer, addresses: readonly number[]) {
    const slotBytes = leaves.reduce((sum, { arrayBytes }) => sum + arrayBytes, 0) * lanes;
    const slots = Math.min(MAX_SLOTS, Math.floor(BLOCK_BYTES / slotBytes), Math.floor(max / lanes / BLOCKS));
    this.layout = blockLayout(leaves, lanes, Math.max(2, slots));
    this.#words = new Int32Array(record);
    this.#copies = leaves.map(({ arrayBytes }, i) => {
      const [from, to, size] = [addresses[i] as number, this.layout.offsets[i] as number, arrayBytes * lanes];
      const words = size <= SHORT && size % 4 === 0 ? size / 4 : 0;
      return { bytes: new Uint8Array(record, from, size), words, from: from / 4, size, to };
    });
  }

  /** Returns whether the block lacks room for `slots` more slots or for a call with `columnBytes` bytes of columns. */
  isFull(slots: number, columnBytes: number): boolean {
    return this.#used + slots > this.layout.slots || this.#textBytes + columnBytes > MAX_COLUMNS_BYTES;
  }

  /** Whether the last slot is used. */
  get isComplete(): boolean {
    return this.#used === this.layout.slots;
  }

  /** Starts a block, unless a block is already open. */
  open(): void {
    if (this.#block !== undefined) return;
    const buffer = this.#spare.pop() ?? new ArrayBuffer(this.layout.bytes);
    this.#block = { buffer, words: new Int32Array(buffer), bytes: new Uint8Array(buffer) };
  }

  /** Completes and returns the block; undefined if no block was started. */
  finish(number: number): BlockMessage | undefined {
    if (this.#block === undefined) return undefined;
    const { buffer } = this.#block;
    const { slots } = this.layout;
    const message: BlockMessage = { kind: "block", number, buffer, base: 0, slots, used: this.#used, calls: this.#calls, columns: this.#columns };
    this.drop();
    return message;
  }

  /** Discards the block. */
  drop(): void {
    this.#block = undefined;
    this.#used = 0;
    this.#calls = [];
    this.#columns = [];
    this.#textBytes = 0;
  }

  /** Takes a returned buffer for reuse. Returns whether the buffer belongs to a block. */
  recycle(buffer: ArrayBuffer): boolean {
    if (buffer.byteLength !== this.layout.bytes) return false;
    if (this.#spare.length <= BLOCKS) this.#spare.push(buffer);
    return true;
  }

  /** Records a call after the steps of the block so far. @param columns the columns of an item as text */
  call(kind: number, a: number, b = 0, c = 0, d = 0, columns?: string): void {
    this.#textBytes += CALL_BYTES + (columns === undefined ? 0 : columnsBytes(columns));
    this.#calls.push(this.#used, kind, a, b, c, d, columns === undefined ? 0 : this.#columns.push(JSON.parse(columns)));
  }

  /** Copies the staged step to the next slot. The block must have room for it. */
  put(): void {
    const { words: toWords, bytes: toBytes } = this.#block as { words: Int32Array; bytes: Uint8Array };
    const fromWords = this.#words;
    const copies = this.#copies;
    const slot = this.#used++;
    for (let i = 0; i < copies.length; i++) {
      const { bytes, words, from, size, to } = copies[i] as LeafCopy;
      const at = to + slot * size;
      if (words === 0) toBytes.set(bytes, at);
      else for (let k = 0, w = at / 4; k < words; k++) toWords[w + k] = fromWords[from + k] as number;
    }
  }

  /** Writes final steps to the first rows of a slot, `slotsAhead` slots after the next slot. A leaf without a column is filled with zeros. */
  putFinals(slotsAhead: number, columns: readonly unknown[], lead: readonly number[]): void {
    const { buffer, bytes: u8 } = this.#block as { buffer: ArrayBuffer; bytes: Uint8Array<ArrayBuffer> };
    const { leaves, lanes, offsets } = this.layout;
    const rows = lead[0] ?? 1;
    leaves.forEach((leaf, i) => {
      const at = (offsets[i] as number) + (this.#used + slotsAhead) * lanes * leaf.arrayBytes;
      u8.fill(0, at, at + rows * leaf.arrayBytes);
      const { dtype } = leaf.leaf;
      const memory = dtype === "string" ? { u8 } : { u8, [dtype]: new DTYPES[dtype].array(buffer) };
      if (columns[i] !== undefined) placeColumn(memory, leaf, at, lead, columns[i], "final.");
    });
  }

  /** Writes for each lane how its episode ends with the step of the next slot. */
  putEnds(ends: EpisodeEnds): void {
    const { lanes, flags } = this.layout;
    placeEnds({ u8: (this.#block as { bytes: Uint8Array<ArrayBuffer> }).bytes }, flags + this.#used * lanes, ends, lanes);
  }

  /** Advances past the next slot after it was filled. */
  skip(): void {
    this.#used++;
  }
}
