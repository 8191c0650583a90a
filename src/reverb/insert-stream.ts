/**
 * Sends items to a server in batches. The server confirms each item separately. If the connection is lost earlier, the items are sent again with all their
 * chunks.
 */
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

/**
 * A batch is sent when it reaches this number of items, or about this many bytes of chunks, or when the program yields. A request exceeds the number of bytes
 * by at most one chunk.
 */
const BATCH_ITEMS = 64;
const BATCH_BYTES = 1 << 20;
/** The approximate maximum number of bytes of unconfirmed chunks in flight. */
const IN_FLIGHT_BYTES = 1 << 28;

interface PendingInsert {
  /** The number of the item in insertion order, from 1 on. */
  readonly number: number;
  readonly item: ItemMessage;
  /** All chunks that the item refers to. */
  readonly chunks: readonly ChunkMessage[];
  /** The number of bytes of the chunks that the server did not have. */
  readonly bytes: number;
}

export class InsertStream {
  readonly #channel: ChannelLike;
  readonly #maxInFlight: number;
  readonly #backOff: BackOff;
  readonly #waiters = new Waiters();
  /** Unconfirmed items, in the order of their calls. */
  readonly #unconfirmed = new Map<bigint, PendingInsert>();
  #unconfirmedBytes = 0;
  #count = 0;
  /** The unconfirmed items that must still be sent. */
  #batch: PendingInsert[] = [];
  #batchBytes = 0;
  #scheduled = false;
  /** The keys of the chunks that the server has received over this call and keeps. */
  #sentChunks = new Set<bigint>();
  /** Returns the keys of the chunks that later items may refer to. */
  readonly #chunksInUse: () => Iterable<bigint>;
  /** Whether unconfirmed items are kept after the time limit for reconnecting, until the next call tries again. */
  readonly #rests: boolean;
  #isResting = false;
  #roomPromise: Promise<void> | undefined;
  #call: Call | undefined;
  #opening = false;
  /** The timer of the next attempt to reconnect, and the error that made the attempt necessary. */
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastError: RpcError | undefined;
  #isFull = false;
  #error: unknown;

  /**
   * @param maxInFlight the maximum number of unconfirmed items
   * @param chunksInUse the keys of the chunks that later items may refer to; undefined for single inserts, whose stream ends permanently after the time limit
   * for reconnecting
   */
  constructor(channel: ChannelLike, maxInFlight: number, reconnectTimeoutMs: number, chunksInUse: (() => Iterable<bigint>) | undefined) {
    this.#channel = channel;
    this.#maxInFlight = maxInFlight;
    this.#backOff = new BackOff(reconnectTimeoutMs);
    this.#rests = chunksInUse !== undefined;
    this.#chunksInUse = chunksInUse ?? (() => []);
  }

  /**
   * Queues an item for sending.
   * @param options the options for waiting until there is room
   * @returns undefined, or, if too many items are in flight, a promise that resolves when there is room
   * @throws the error that ended the stream
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

  /**
   * Waits until at most `max` items are unconfirmed. Returns undefined if that is already true.
   * @throws RangeError if `max` is not a count · ReplayError TIMEOUT if the time limit ends the wait
   * @throws the error that ended the stream · the signal's reason if the signal aborts
   */
  flush(max: number, options: WaitOptions): Promise<void> | undefined {
    integer("blockUntilNumItems", max, 0);
    this.check();
    this.#resume();
    this.#send();
    return this.#waitFor(max, options);
  }

  /** Waits until the items with these keys are confirmed. @throws the errors of `flush` */
  waitForItems(keys: readonly bigint[], options: WaitOptions): Promise<void> | undefined {
    this.check();
    this.#resume();
    return this.#waitForCount(() => keys.reduce((count, key) => count + Number(this.#unconfirmed.has(key)), 0), 0, options);
  }

  /** The number of items inserted so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Waits until the first `count` items are confirmed, while later items may be in flight. Returns undefined if that is already true. @throws the errors of
   * `flush`
   */
  waitForFirst(count: number, options: WaitOptions): Promise<void> | undefined {
    this.check();
    this.#resume();
    this.#send();
    // The items are in the order of their calls.
    const oldest = () => this.#unconfirmed.values().next().value?.number ?? Number.POSITIVE_INFINITY;
    return this.#waitForCount(() => Number(oldest() <= count), 0, options);
  }

  /** Whether the stream has ended, by an error or by `close`. */
  get hasEnded(): boolean {
    return this.#error !== undefined;
  }

  /** Whether every item is confirmed. */
  get isIdle(): boolean {
    return this.#unconfirmed.size === 0;
  }

  /** @throws ReplayError CLOSED, or the error that ended the stream */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** Ends the stream. Unconfirmed items may or may not be in their tables. */
  close(reason: unknown): void {
    this.#fail(reason ?? new ReplayError("CLOSED", "this stream of inserts was closed"));
    // The server treats a cancelled call as a normal end; a half-close would wait for an answer.
    this.#call?.cancel();
  }

  get #hasRoom(): boolean {
    return this.#unconfirmed.size < this.#maxInFlight && this.#unconfirmedBytes < IN_FLIGHT_BYTES;
  }

  /** Waits until there is room. All waiting callers share one promise. */
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

  /** Describes the confirmations that callers wait for. */
  #describeWait(): string {
    const reason = this.#lastError === undefined ? "it is slow, or the rate limiters of their tables accept no more" : `${this.#lastError.message}. Retrying`;
    return `${this.#unconfirmed.size} items are not confirmed by the Reverb server at ${this.#channel.address}: ${reason}`;
  }

  /** Reconnects for all unconfirmed items, after the time limit was reached. */
  #resume(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    this.#backOff.reset();
    if (this.#unconfirmed.size > 0) this.#open();
  }

  /** Sends as much of the batch as there is room for. */
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

  /**
   * Returns the next request: items of the batch, and the chunks that the server lacks. If an item is too big for one request, its chunks are sent in earlier
   * requests.
   */
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
    // The server drops chunks only if the request has items.
    return { chunks, items, keep: items.length === 0 ? [] : this.#keep() };
  }

  #keep(): bigint[] {
    const keep = new Set<bigint>();
    // The server rejects the keys of unknown chunks.
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
      // All unconfirmed items are sent, including items that were sent on an earlier stream. The server recognizes items by their keys.
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
    const lossError = error ?? new RpcError(address, "InsertStream", UNAVAILABLE, "it ended the stream before it confirmed all items");
    const { size } = this.#unconfirmed;
    // If a server stops between two items, the insert of the next item reports the loss.
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
      const retentionText = this.#rests ? ". They are kept, and the next call sends them again" : "";
      const reason = `${lossError.details}; retried for ${this.#backOff.limitMs} ms (reconnectTimeoutMs), and ${size} items are not confirmed${retentionText}`;
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
