/** A block that fills up: steps in its slots, and calls between them. */
import { ReplayError } from "../../base/error.ts";
import { type EpisodeEnds, placeColumn, placeEnds } from "../../memory/block.ts";
import { DTYPES } from "../../schema/dtype.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { type BlockLayout, blockLayout } from "./block.ts";
import type { BlockMessage } from "./messages.ts";

/** Bytes and slots of a block, about: enough that a message costs little beside its steps. */
const BLOCK_BYTES = 64 << 10;
const MAX_SLOTS = 1024;
/** Bytes of a block's text at most, by which the memory's end has to be ready for it; of what is not a call, and of a call without columns. */
export const TEXT_BYTES = 1 << 16;
const HEAD_BYTES = 1024;
const CALL_BYTES = 64;
const MAX_COLUMNS_BYTES = TEXT_BYTES - HEAD_BYTES - CALL_BYTES;
/** Blocks in which `maxInFlight` steps go, so that some come back while others are filled. */
const BLOCKS = 4;

/** Up to this many bytes are copied by a loop, which is faster than a call of `set`. */
const SHORT = 128;

/** Where a leaf's staged value is, and where it goes. */
interface LeafCopy {
  readonly bytes: Uint8Array;
  /** In words, where it is short and made of them; else 0. */
  readonly words: number;
  readonly from: number;
  readonly size: number;
  readonly to: number;
}

/** Bytes of an item's columns in a block's text. @throws ReplayError UNSUPPORTED for more than a block has */
export function columnsBytes(text: string): number {
  const bytes = new TextEncoder().encode(text).length + 1;
  if (bytes <= MAX_COLUMNS_BYTES) return bytes;
  throw new ReplayError(
    "UNSUPPORTED",
    `columns has ${bytes} bytes as text, and an item of a remote writer may have ${MAX_COLUMNS_BYTES}: name fewer columns, or give them shorter names`,
  );
}

export class BlockBuilder {
  readonly layout: BlockLayout;
  readonly #words: Int32Array;
  readonly #copies: readonly LeafCopy[];
  /** Buffers that came back. */
  readonly #spare: ArrayBuffer[] = [];
  #block: { readonly buffer: ArrayBuffer; readonly words: Int32Array; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;
  #used = 0;
  #calls: number[] = [];
  #columns: object[] = [];
  /** Of the calls, at most. */
  #textBytes = 0;

  /**
   * @param max steps that may be on their way
   * @param record the staged step, one a lane
   * @param addresses where each leaf begins in it
   */
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

  /** Whether so many slots more, and a call with so many bytes of columns, do not fit in the block. */
  isFull(slots: number, columnBytes: number): boolean {
    return this.#used + slots > this.layout.slots || this.#textBytes + columnBytes > MAX_COLUMNS_BYTES;
  }

  /** Whether the last slot is used. */
  get isComplete(): boolean {
    return this.#used === this.layout.slots;
  }

  /** Begins a block, unless there is one. */
  open(): void {
    if (this.#block !== undefined) return;
    const buffer = this.#spare.pop() ?? new ArrayBuffer(this.layout.bytes);
    this.#block = { buffer, words: new Int32Array(buffer), bytes: new Uint8Array(buffer) };
  }

  /** The block, which is then over; undefined where none was begun. */
  finish(number: number): BlockMessage | undefined {
    if (this.#block === undefined) return undefined;
    const { buffer } = this.#block;
    const { slots } = this.layout;
    const message: BlockMessage = { kind: "block", number, buffer, base: 0, slots, used: this.#used, calls: this.#calls, columns: this.#columns };
    this.drop();
    return message;
  }

  /** Gives up the block. */
  drop(): void {
    this.#block = undefined;
    this.#used = 0;
    this.#calls = [];
    this.#columns = [];
    this.#textBytes = 0;
  }

  /** Takes a buffer back. Whether it is one of a block. */
  recycle(buffer: ArrayBuffer): boolean {
    if (buffer.byteLength !== this.layout.bytes) return false;
    if (this.#spare.length <= BLOCKS) this.#spare.push(buffer);
    return true;
  }

  /** Notes a call behind the steps of the block so far; `columns` of an item as text, where it has some. */
  call(kind: number, a: number, b = 0, c = 0, d = 0, columns?: string): void {
    this.#textBytes += CALL_BYTES + (columns === undefined ? 0 : columnsBytes(columns));
    this.#calls.push(this.#used, kind, a, b, c, d, columns === undefined ? 0 : this.#columns.push(JSON.parse(columns)));
  }

  /** Copies what is staged to the next slot, for which there is room. */
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

  /** Writes final steps to the first rows of a slot that comes so many behind the next one; a leaf without a column is zeros. */
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

  /** How the lanes' episodes end with the step of the next slot. */
  putEnds(ends: EpisodeEnds): void {
    const { lanes, flags } = this.layout;
    placeEnds({ u8: (this.#block as { bytes: Uint8Array<ArrayBuffer> }).bytes }, flags + this.#used * lanes, ends, lanes);
  }

  /** The next slot has been filled. */
  skip(): void {
    this.#used++;
  }
}
