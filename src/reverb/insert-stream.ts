/** Items on their way to a server: sent in batches, confirmed one by one, and sent again with all their chunks where the connection was lost before that. */
import { integer, ReplayError } from "../base/error.ts";
import { Waiters, type WaitOptions } from "../base/wait.ts";
import { BackOff, isLost } from "./back-off.ts";
import type { Call } from "./grpc/call.ts";
import type { ChannelLike } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { RpcError, UNAVAILABLE } from "./grpc/status.ts";
import type { ItemMessage } from "./wire/item.ts";
import { type InsertRequest, insertRequest } from "./wire/requests.ts";
import { readInsertResponse } from "./wire/responses.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** A batch goes when it has so many items, or bytes of chunks about; else when the program lets other things happen. No request has more, but for one chunk that has. */
const BATCH_ITEMS = 64;
const BATCH_BYTES = 1 << 20;
/** Bytes of chunks, about, that may be on their way without a confirmation. */
const IN_FLIGHT_BYTES = 1 << 28;

interface PendingInsert {
  /** Items of the stream before it, and itself. */
  readonly number: number;
  readonly item: ItemMessage;
  /** All chunks that it refers to. */
  readonly chunks: readonly ChunkMessage[];
  /** Of those that the server did not have. */
  readonly bytes: number;
}

export class InsertStream {
  readonly #channel: ChannelLike;
  readonly #maxInFlight: number;
  readonly #backOff: BackOff;
  readonly #waiters = new Waiters();
  /** Items without a confirmation, in the order of their calls. */
  readonly #unconfirmed = new Map<bigint, PendingInsert>();
  #unconfirmedBytes = 0;
  #count = 0;
  /** Those of them that are to be sent. */
  #batch: PendingInsert[] = [];
  #batchBytes = 0;
  #scheduled = false;
  /** Chunks that the server has on this stream. */
  #sentChunks = new Set<bigint>();
  /** Chunks that later items may refer to. */
  readonly #chunksInUse: () => Iterable<bigint>;
  /** Whether items without a confirmation stay where the connection was tried for too long, until the next call tries it again. */
  readonly #rests: boolean;
  #isResting = false;
  #roomPromise: Promise<void> | undefined;
  #call: Call | undefined;
  #opening = false;
  /** Until the next attempt, after the connection was lost by this. */
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastError: RpcError | undefined;
  #isFull = false;
  #error: unknown;

  /**
   * @param maxInFlight items that may be without a confirmation
   * @param chunksInUse keys of the chunks that items to come may refer to; undefined for single inserts, whose stream ends for good where it was tried for too long
   */
  constructor(channel: ChannelLike, maxInFlight: number, reconnectTimeoutMs: number, chunksInUse: (() => Iterable<bigint>) | undefined) {
    this.#channel = channel;
    this.#maxInFlight = maxInFlight;
    this.#backOff = new BackOff(reconnectTimeoutMs);
    this.#rests = chunksInUse !== undefined;
    this.#chunksInUse = chunksInUse ?? (() => []);
  }

  /**
   * Sends an item, soon. @param options of the wait for room @returns undefined, or where too many are on their way a promise of room
   * @throws what ended the stream
   */
  insert(item: ItemMessage, chunks: readonly ChunkMessage[], options: WaitOptions = {}): Promise<void> | undefined {
    this.check();
    this.#resume();
    let bytes = 0;
    for (const chunk of chunks) if (!this.#sentChunks.has(chunk.key)) bytes += chunk.uncompressedSize;
    const pendingInsert = { number: ++this.#count, item, chunks, bytes };
    this.#unconfirmed.set(item.key, pendingInsert);
    this.#unconfirmedBytes += bytes;
    this.#batch.push(pendingInsert);
    this.#batchBytes += bytes;
    if (this.#batch.length >= BATCH_ITEMS || this.#batchBytes >= BATCH_BYTES) this.#send();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setTimeout(() => {
        this.#scheduled = false;
        this.#send();
      }, 0);
    }
    return this.#hasRoom ? undefined : this.#waitForRoom(options);
  }

  /** Waits until at most so many items are without a confirmation; undefined where it is so. @throws RangeError · ReplayError TIMEOUT, what ended the stream, the signal's reason */
  flush(max: number, options: WaitOptions): Promise<void> | undefined {
    integer("blockUntilNumItems", max, 0);
    this.check();
    this.#resume();
    this.#send();
    return this.#waitFor(max, options);
  }

  /** Waits until some items are confirmed. @throws as `flush` */
  waitForItems(keys: readonly bigint[], options: WaitOptions): Promise<void> | undefined {
    this.check();
    this.#resume();
    return this.#waitForCount(() => keys.reduce((count, key) => count + Number(this.#unconfirmed.has(key)), 0), 0, options);
  }

  /** Items that were inserted so far. */
  get count(): number {
    return this.#count;
  }

  /** Waits until the first `count` items are confirmed, while later ones may be on their way; undefined where it is so. @throws as `flush` */
  waitForFirst(count: number, options: WaitOptions): Promise<void> | undefined {
    this.check();
    this.#resume();
    this.#send();
    // They are in the order of their calls.
    const oldest = () => this.#unconfirmed.values().next().value?.number ?? Number.POSITIVE_INFINITY;
    return this.#waitForCount(() => Number(oldest() <= count), 0, options);
  }

  /** Whether it ended, by an error or by `close`. */
  get hasEnded(): boolean {
    return this.#error !== undefined;
  }

  /** Whether every item is confirmed. */
  get isIdle(): boolean {
    return this.#unconfirmed.size === 0;
  }

  /** @throws ReplayError CLOSED, or what ended the stream */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** Ends the stream. Items that are without a confirmation may or may not be in their tables. */
  close(reason: unknown): void {
    this.#fail(reason ?? new ReplayError("CLOSED", "this stream of inserts was closed"));
    // A server takes it as an end like any other; half a close, as politeness would have it, waits for an answer.
    this.#call?.cancel();
  }

  get #hasRoom(): boolean {
    return this.#unconfirmed.size < this.#maxInFlight && this.#unconfirmedBytes < IN_FLIGHT_BYTES;
  }

  /** One wait for all that wait for it. */
  #waitForRoom(options: WaitOptions): Promise<void> | undefined {
    if (this.#roomPromise !== undefined) return this.#roomPromise;
    const roomPromise = this.#waitForCount(() => Number(!this.#hasRoom), 0, options);
    if (roomPromise === undefined) return undefined;
    this.#roomPromise = roomPromise;
    const onRoom = () => {
      this.#roomPromise = undefined;
    };
    roomPromise.then(onRoom, onRoom);
    return roomPromise;
  }

  #waitFor(max: number, options: WaitOptions): Promise<void> | undefined {
    return this.#waitForCount(() => this.#unconfirmed.size, max, options);
  }

  #waitForCount(waiting: () => number, max: number, options: WaitOptions): Promise<void> | undefined {
    const unlessOver = () => {
      this.check();
      return waiting();
    };
    return this.#waiters.untilAtMost(unlessOver, options, max, () => this.#describeWait());
  }

  /** What those who wait for confirmations wait for. */
  #describeWait(): string {
    const reason =
      this.#lastError === undefined ? "it is slow, or the rate limiters of their tables let no more in" : `${this.#lastError.message}; it is tried again`;
    return `${this.#unconfirmed.size} items have no confirmation of the Reverb server at ${this.#channel.address}: ${reason}`;
  }

  /** Tries the connection again, for all items without a confirmation, after it was tried for too long. */
  #resume(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    this.#backOff.reset();
    if (this.#unconfirmed.size > 0) this.#open();
  }

  /** Sends what is to be sent, as far as there is room for it. */
  #send(): void {
    if (this.#batch.length === 0 || this.#isFull || this.#opening || this.#isResting || this.#retry !== undefined || this.#error !== undefined) return;
    const call = this.#call;
    if (call === undefined) {
      this.#open();
      return;
    }
    this.#batchBytes = 0;
    while (this.#batch.length > 0 && !this.#isFull) this.#isFull = !call.send(insertRequest(this.#request(), HEAD));
  }

  /** The next of the batch, and what the server does not have of their chunks. Chunks of an item that is too big go ahead of it. */
  #request(): InsertRequest {
    const chunks: ChunkMessage[] = [];
    const items: ItemMessage[] = [];
    let bytes = 0;
    fill: for (const pendingInsert of this.#batch) {
      for (const chunk of pendingInsert.chunks) {
        if (this.#sentChunks.has(chunk.key)) continue;
        if (bytes >= BATCH_BYTES) break fill;
        this.#sentChunks.add(chunk.key);
        chunks.push(chunk);
        bytes += chunk.uncompressedSize;
      }
      items.push(pendingInsert.item);
      if (items.length === BATCH_ITEMS) break;
    }
    this.#batch.splice(0, items.length);
    // The server lets go of chunks with items only.
    return { chunks, items, keep: items.length === 0 ? [] : this.#keep() };
  }

  #keep(): bigint[] {
    const keep = new Set<bigint>();
    // The server knows no others, and refuses their names.
    for (const key of this.#chunksInUse()) if (this.#sentChunks.has(key)) keep.add(key);
    for (let i = 0; i < Math.min(this.#batch.length, BATCH_ITEMS); i++)
      for (const { key } of (this.#batch[i] as PendingInsert).chunks) if (this.#sentChunks.has(key)) keep.add(key);
    this.#sentChunks = keep;
    return [...keep];
  }

  #open(): void {
    this.#opening = true;
    let thisCall: Call | undefined;
    const end = (error: unknown) => {
      if (thisCall !== undefined && this.#call !== thisCall) return;
      this.#call = undefined;
      this.#opening = false;
      this.#onLoss(error);
    };
    const drain = () => {
      this.#isFull = false;
      this.#send();
    };
    this.#channel.call("InsertStream", { message: (bytes) => this.#onConfirmation(bytes), end, drain }).then((call) => {
      thisCall = call;
      this.#opening = false;
      if (this.#error !== undefined) {
        call.cancel();
        return;
      }
      this.#call = call;
      this.#backOff.onOpen();
      this.#isFull = false;
      this.#sentChunks = new Set();
      // All that has no confirmation, also what was sent on a stream before; the server tells it by its key.
      this.#batch = [...this.#unconfirmed.values()];
      this.#send();
    }, end);
  }

  #onConfirmation(bytes: Uint8Array): void {
    for (const key of readInsertResponse(bytes)) {
      const pendingInsert = this.#unconfirmed.get(key);
      if (pendingInsert === undefined) continue;
      this.#unconfirmed.delete(key);
      this.#unconfirmedBytes -= pendingInsert.bytes;
      this.#backOff.reset();
      this.#lastError = undefined;
    }
    this.#waiters.wake();
  }

  #onLoss(error: unknown): void {
    if (this.#error !== undefined) return;
    const { address } = this.#channel;
    const lossError = error ?? new RpcError(address, "InsertStream", UNAVAILABLE, "it ended the stream before it had confirmed all items");
    const { size } = this.#unconfirmed;
    // A server that goes down between two items is felt with the next one.
    if (size === 0 && isLost(lossError)) return;
    const wait = this.#backOff.after(lossError);
    if (wait !== undefined) {
      this.#lastError = lossError as RpcError;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        if (this.#unconfirmed.size > 0) this.#open();
      }, wait);
    } else if (!isLost(lossError)) this.#fail(lossError);
    else {
      const retentionText = this.#rests ? "; they stay here, and the next call sends them again" : "";
      const reason = `${lossError.details}; tried again for ${this.#backOff.limitMs} ms (reconnectTimeoutMs), and ${size} items have no confirmation${retentionText}`;
      const error = new RpcError(lossError.address, "InsertStream", lossError.status, reason, lossError);
      if (!this.#rests) {
        this.#fail(error);
        return;
      }
      this.#isResting = true;
      this.#waiters.rejectAll(() => error);
    }
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    clearTimeout(this.#retry);
    this.#batch = [];
    this.#unconfirmed.clear();
    this.#waiters.rejectAll(() => this.#error);
  }
}
