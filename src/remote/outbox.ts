/** What leaves an actor: blocks that fill up, calls between their steps, and the count of what is on its way. */

import { ReplayError } from "../base/error.ts";
import { abortable, type WaitOptions } from "../base/wait.ts";
import { type Block, type EpisodeEnds, placeColumn, placeEnds } from "../memory/block.ts";
import { reentrancyError } from "../memory/reentrancy.ts";
import { DTYPES } from "../schema/dtype.ts";
import { alignUp, type PlacedLeaf } from "../schema/layout.ts";
import { type BlockLayout, blockLayout } from "./block.ts";
import { type Connection, portClosed } from "./handshake.ts";
import type { BlockMessage, ByeMessage, ColumnsMessage, FlushMessage, ToActor } from "./messages.ts";
import { type Channel, decodeError } from "./port.ts";
import { fieldsOf, isBuffer, isCount, listOf, malformed } from "./validators.ts";

/** Bytes and slots of a block, about: enough that a message costs little beside its steps. */
const BLOCK_BYTES = 64 << 10;
const MAX_SLOTS = 256;
/** Blocks in which `maxInFlight` steps go, so that some come back while others are filled. */
const BLOCKS = 4;

const isTaken = fieldsOf({ buffer: (value) => isBuffer(value) && (value as ArrayBuffer).byteLength % 8 === 0, counts: listOf(isCount) });

function isToActor(message: unknown): boolean {
  const { kind } = (message ?? {}) as Partial<ToActor>;
  return kind === "flushed" || kind === "closed" || kind === "refused" || (kind === "taken" && isTaken(message));
}

interface Resolvers {
  resolve(): void;
  reject(reason: unknown): void;
}

/** Where a leaf's staged value is, and where it goes. */
interface LeafCopy {
  readonly bytes: Uint8Array;
  /** In words, where it is short and made of them; else 0. */
  readonly words: number;
  readonly from: number;
  readonly size: number;
  readonly to: number;
}

/** A buffer for columns, with a view for each dtype. */
export class ColumnMemory {
  buffer: ArrayBuffer;
  u8!: Uint8Array<ArrayBuffer>;
  u32!: Uint32Array<ArrayBuffer>;
  f64!: Float64Array<ArrayBuffer>;

  /** @param spare one that may be large enough */
  constructor(spare: ArrayBuffer | undefined) {
    this.buffer = spare ?? new ArrayBuffer(0);
    this.#refreshViews();
  }

  /** As the core's: everything begins at 0. */
  scratch(bytes: number): number {
    // Never of a block's own size, by which those are known.
    if (this.buffer.byteLength < bytes) this.buffer = new ArrayBuffer(alignUp(bytes, 16) + 8);
    this.#refreshViews();
    return 0;
  }

  #refreshViews(): void {
    for (const dtype in DTYPES) this[dtype as "u8"] = new DTYPES[dtype as "u8"].array(this.buffer) as Uint8Array<ArrayBuffer>;
  }
}

function inFlightError(count: number, noun: string, max: number, call: string): ReplayError {
  return new ReplayError("RATE_LIMITED", `${count} ${noun} are on their way already, maxInFlight is ${max}: await what ${call} gives`);
}

/** Up to this many bytes are copied by a loop, which is faster than a call of `set`. */
const SHORT = 128;

export class Outbox {
  readonly layout: BlockLayout;
  /** While a call reads what it was given, which may run functions of the caller. */
  locked = false;
  readonly #channel: Channel;
  readonly #connection: Connection;
  readonly #max: number;
  readonly #words: Int32Array;
  readonly #copies: readonly LeafCopy[];
  /** Buffers that came back. */
  readonly #spare: ArrayBuffer[] = [];
  /** The last one of columns that came back. */
  #spareColumns: ArrayBuffer | undefined;
  #block: { readonly buffer: ArrayBuffer; readonly words: Int32Array; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;
  #used = 0;
  #calls: number[] = [];
  #columns: object[] = [];
  /** Steps, then items by table: in the open block, and in all that the memory has not taken. */
  #counts: number[];
  readonly #inFlight: Float64Array;
  /** Messages that have not come back. */
  #messagesInFlight = 0;
  #isScheduled = false;
  #roomPromise: (Resolvers & { readonly promise: Promise<void> }) | undefined;
  readonly #flushes = new Map<number, Resolvers>();
  #flushCount = 0;
  #closePromise: Promise<void> | undefined;
  #closeResolvers: Resolvers | undefined;
  #error: Error | undefined;

  /**
   * @param max steps that may be on their way, and items of each table
   * @param record the staged step, one a lane
   * @param addresses where each leaf begins in it
   */
  constructor(
    connection: Connection,
    leaves: readonly PlacedLeaf[],
    lanes: number,
    tables: number,
    max: number,
    record: ArrayBuffer,
    addresses: readonly number[],
  ) {
    this.#connection = connection;
    this.#channel = connection.channel;
    this.#max = max;
    this.#counts = new Array(1 + tables).fill(0);
    this.#inFlight = new Float64Array(1 + tables);
    const slotBytes = leaves.reduce((sum, { bytes }) => sum + bytes, 0) * lanes;
    const slots = Math.min(MAX_SLOTS, Math.floor(BLOCK_BYTES / slotBytes), Math.floor(max / lanes / BLOCKS));
    this.layout = blockLayout(leaves, lanes, Math.max(2, slots));
    this.#words = new Int32Array(record);
    this.#copies = leaves.map(({ bytes }, i) => {
      const [from, to, size] = [addresses[i] as number, this.layout.offsets[i] as number, bytes * lanes];
      const words = size <= SHORT && size % 4 === 0 ? size / 4 : 0;
      return { bytes: new Uint8Array(record, from, size), words, from: from / 4, size, to };
    });
    connection.onLost = () => this.#fail(portClosed());
    connection.channel.onEnd = connection.onLost;
    connection.channel.onMessage = (message: ToActor) => this.#onMessage(message);
    connection.channel.keepAlive(false);
  }

  /** Steps that the memory has not taken yet. */
  get inFlight(): number {
    return this.#inFlight[0] as number;
  }

  /** Before a step. @throws ReplayError CLOSED, RATE_LIMITED, or what went wrong where the memory is */
  ready(): void {
    this.open();
    const steps = this.#inFlight[0] as number;
    if (steps >= this.#max) throw inFlightError(steps, "steps", this.#max, "append");
  }

  /** The same before an item, which comes behind a step: more are taken, since that may have reached the limit. */
  readyForItem(table: number): void {
    this.open();
    const items = this.#inFlight[1 + table] as number;
    if (items >= 2 * this.#max) throw inFlightError(items, "items", this.#max, "createItem");
  }

  /** The same of calls that are always taken. */
  open(): void {
    if (this.locked) throw reentrancyError();
    if (this.#error !== undefined) throw this.#error;
    if (this.#closePromise !== undefined) throw new ReplayError("CLOSED", "this writer was closed: make a new one with remoteWriter()");
  }

  /** Room for so many slots in one block. */
  reserve(slots: number): void {
    if (this.#used + slots > this.layout.slots) this.send();
    if (this.#block !== undefined) return;
    const buffer = this.#spare.pop() ?? new ArrayBuffer(this.layout.bytes);
    this.#block = { buffer, words: new Int32Array(buffer), bytes: new Uint8Array(buffer) };
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
      const at = (offsets[i] as number) + (this.#used + slotsAhead) * lanes * leaf.bytes;
      u8.fill(0, at, at + rows * leaf.bytes);
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

  /** Sends columns, behind all that came before. */
  sendColumns(place: (memory: ColumnMemory) => Block): { readonly rows: number; readonly room: Promise<void> | undefined } {
    const memory = new ColumnMemory(this.#spareColumns);
    const { rows, ends, finals } = place(memory);
    this.send();
    this.#spareColumns = undefined;
    const { buffer } = memory;
    const counts = this.#counts.map((_, index) => (index === 0 ? rows : 0));
    this.#messagesInFlight++;
    this.#channel.keepAlive(true);
    this.#channel.post({ kind: "columns", buffer, rows, ends, finals, counts } satisfies ColumnsMessage, [buffer]);
    (this.#inFlight[0] as number) += rows;
    return { rows, room: this.inFlight >= this.#max ? this.#waitForRoom() : undefined };
  }

  /** Notes a call behind the steps of the block so far; `columns` of an item, where it has some. */
  call(kind: number, a: number, b = 0, c = 0, d = 0, columns?: object): void {
    this.reserve(0);
    this.#calls.push(this.#used, kind, a, b, c, d, columns === undefined ? 0 : this.#columns.push(columns));
  }

  /** Ends a call with so many steps: `undefined`, or a promise where so many are on their way that the caller must wait. */
  addSteps(steps: number): Promise<void> | undefined {
    return this.#addCount(0, steps);
  }

  addItem(table: number): Promise<void> | undefined {
    return this.#addCount(1 + table, 1);
  }

  #addCount(index: number, n: number): Promise<void> | undefined {
    (this.#counts[index] as number) += n;
    (this.#inFlight[index] as number) += n;
    const isFull = (this.#inFlight[index] as number) >= this.#max;
    if (isFull || this.#used === this.layout.slots) this.send();
    else this.#sendSoon();
    return isFull ? this.#waitForRoom() : undefined;
  }

  /** What is left when the actor does something else, such as waiting for its environment, goes then. */
  #sendSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.send();
    }, 0);
  }

  /** Sends what there is. */
  send(): void {
    if (this.#block === undefined || this.#error !== undefined) return;
    const { buffer } = this.#block;
    const { slots } = this.layout;
    const message: BlockMessage = { kind: "block", buffer, slots, used: this.#used, calls: this.#calls, columns: this.#columns, counts: this.#counts };
    this.#block = undefined;
    this.#used = 0;
    this.#calls = [];
    this.#columns = [];
    this.#counts = this.#counts.map(() => 0);
    this.#messagesInFlight++;
    this.#channel.keepAlive(true);
    this.#channel.post(message, [buffer]);
  }

  /** Resolves when the memory has all that was sent before, and none of its items waits. */
  async flush(options: WaitOptions): Promise<void> {
    this.send();
    const id = this.#flushCount++;
    const done = new Promise<void>((resolve, reject) => this.#flushes.set(id, { resolve, reject }));
    this.#channel.keepAlive(true);
    this.#channel.post({ kind: "flush", id } satisfies FlushMessage);
    return abortable(done, "steps are still on their way, or items wait for the rate limiter", options);
  }

  /** Sends what there is and leaves; resolves when the memory has it all. */
  close(options: WaitOptions): Promise<void> {
    if (this.locked) throw reentrancyError();
    if (this.#closePromise === undefined) {
      if (this.#error !== undefined) return this.inFlight === 0 ? Promise.resolve() : Promise.reject(this.#error);
      this.send();
      this.#closePromise = new Promise<void>((resolve, reject) => {
        this.#closeResolvers = { resolve, reject };
      });
      this.#closePromise.catch(() => {});
      this.#channel.keepAlive(true);
      this.#channel.post({ kind: "bye" } satisfies ByeMessage);
    }
    return abortable(this.#closePromise, "steps are still on their way", options);
  }

  #onMessage(message: ToActor): void {
    if (!isToActor(message)) {
      this.#fail(malformed("an answer", "acceptWriter"));
      return;
    }
    switch (message.kind) {
      case "taken":
        this.#messagesInFlight--;
        message.counts.forEach((count, index) => {
          (this.#inFlight[index] as number) -= count;
        });
        if (message.buffer.byteLength !== this.layout.bytes) this.#spareColumns = message.buffer;
        else if (this.#spare.length <= BLOCKS) this.#spare.push(message.buffer);
        if (this.#inFlight.every((count) => count < this.#max)) {
          this.#roomPromise?.resolve();
          this.#roomPromise = undefined;
        }
        break;
      case "flushed":
        this.#flushes.get(message.id)?.resolve();
        this.#flushes.delete(message.id);
        break;
      case "closed":
        if (message.error === undefined) this.#end();
        else this.#fail(decodeError(message.error));
        return;
      case "refused":
        this.#fail(decodeError(message.error));
        return;
    }
    if (this.#messagesInFlight === 0 && this.#flushes.size === 0 && this.#closeResolvers === undefined) this.#channel.keepAlive(false);
  }

  #waitForRoom(): Promise<void> {
    if (this.#roomPromise === undefined) {
      let resolvers: Resolvers | undefined;
      const promise = new Promise<void>((resolve, reject) => {
        resolvers = { resolve, reject };
      });
      // The caller need not await it, and an unhandled rejection must not end the program.
      promise.catch(() => {});
      this.#roomPromise = { ...(resolvers as unknown as Resolvers), promise };
    }
    return this.#roomPromise.promise;
  }

  /** From now on every call throws this. */
  #fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#roomPromise?.reject(error);
    this.#closeResolvers?.reject(error);
    for (const { reject } of this.#flushes.values()) reject(error);
    this.#release();
  }

  #end(): void {
    this.#roomPromise?.resolve();
    for (const { resolve } of this.#flushes.values()) resolve();
    this.#closeResolvers?.resolve();
    this.#error = new ReplayError("CLOSED", "this writer was closed: make a new one with remoteWriter()");
    this.#release();
  }

  #release(): void {
    this.#block = undefined;
    this.#flushes.clear();
    this.#channel.close();
    this.#connection.leave();
  }
}
