/** Items on their way to a server: sent in batches, confirmed one by one, and sent again with all their chunks where the connection was lost before that. */
import { integer, ReplayError } from "../error.ts";
import { Waiters, type WaitOptions } from "../wait.ts";
import { BackOff } from "./back-off.ts";
import type { Call } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import type { ItemMessage } from "./wire/item.ts";
import { insertRequest } from "./wire/requests.ts";
import { readInsertResponse } from "./wire/responses.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** A batch goes when it has so many items, or bytes of chunks about; else when the program lets other things happen. */
const BATCH_ITEMS = 64;
const BATCH_BYTES = 1 << 20;

interface Sent {
  readonly item: ItemMessage;
  /** All chunks that it refers to. */
  readonly chunks: readonly ChunkMessage[];
}

export class InsertStream {
  readonly #channel: Channel;
  readonly #maxInFlight: number;
  readonly #backOff: BackOff;
  readonly #waiters = new Waiters();
  /** Items without a confirmation, in the order of their calls. */
  readonly #unconfirmed = new Map<bigint, Sent>();
  /** Those of them that are to be sent. */
  #batch: Sent[] = [];
  #batchBytes = 0;
  #scheduled = false;
  /** Chunks that the server has on this stream. */
  #known = new Set<bigint>();
  /** Chunks that later items may refer to. */
  readonly #kept: () => Iterable<bigint>;
  #call: Call | undefined;
  #opening = false;
  #isFull = false;
  #error: unknown;
  #closed = false;

  /**
   * @param maxInFlight items that may be without a confirmation
   * @param kept keys of the chunks that items to come may refer to
   */
  constructor(channel: Channel, maxInFlight: number, reconnectTimeoutMs: number, kept: () => Iterable<bigint>) {
    this.#channel = channel;
    this.#maxInFlight = maxInFlight;
    this.#backOff = new BackOff(reconnectTimeoutMs);
    this.#kept = kept;
  }

  /**
   * Sends an item, soon. @returns undefined, or where too many are on their way a promise of room
   * @throws what ended the stream
   */
  insert(item: ItemMessage, chunks: readonly ChunkMessage[]): Promise<void> | undefined {
    this.check();
    const sent = { item, chunks };
    this.#unconfirmed.set(item.key, sent);
    this.#batch.push(sent);
    for (const chunk of chunks) if (!this.#known.has(chunk.key)) this.#batchBytes += chunk.uncompressedSize;
    if (this.#batch.length >= BATCH_ITEMS || this.#batchBytes >= BATCH_BYTES) this.#send();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setTimeout(() => {
        this.#scheduled = false;
        this.#send();
      }, 0);
    }
    return this.#unconfirmed.size < this.#maxInFlight ? undefined : this.#until(this.#maxInFlight - 1, {});
  }

  /** Waits until at most so many items are without a confirmation; undefined where it is so. @throws RangeError · ReplayError TIMEOUT, what ended the stream, the signal's reason */
  flush(max: number, options: WaitOptions): Promise<void> | undefined {
    integer("blockUntilNumItems", max, 0);
    this.check();
    this.#send();
    return this.#until(max, options);
  }

  /** Waits until some items are confirmed. @throws as `flush` */
  confirmed(keys: readonly bigint[], options: WaitOptions): Promise<void> | undefined {
    this.check();
    return this.#untilFew(() => keys.reduce((count, key) => count + Number(this.#unconfirmed.has(key)), 0), 0, options);
  }

  /** Whether it ended, by an error or by `close`. */
  get isOver(): boolean {
    return this.#error !== undefined;
  }

  /** @throws ReplayError CLOSED, or what ended the stream */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** Ends the stream. Items that are without a confirmation may or may not be in their tables. */
  close(reason: unknown): void {
    this.#closed = true;
    if (this.#unconfirmed.size === 0) this.#call?.finish();
    else this.#call?.cancel();
    this.#fail(reason);
  }

  #until(max: number, options: WaitOptions): Promise<void> | undefined {
    return this.#untilFew(() => this.#unconfirmed.size, max, options);
  }

  #untilFew(waiting: () => number, max: number, options: WaitOptions): Promise<void> | undefined {
    const counted = () => {
      this.check();
      return waiting();
    };
    return this.#waiters.untilFew(counted, options, max);
  }

  /** Sends the batch, where there is one and room for it. */
  #send(): void {
    if (this.#batch.length === 0 || this.#isFull || this.#opening || this.#closed) return;
    const call = this.#call;
    if (call === undefined) {
      this.#open();
      return;
    }
    const chunks: ChunkMessage[] = [];
    const named = new Set<bigint>();
    for (const sent of this.#batch)
      for (const chunk of sent.chunks) {
        named.add(chunk.key);
        if (this.#known.has(chunk.key)) continue;
        this.#known.add(chunk.key);
        chunks.push(chunk);
      }
    const keep: bigint[] = [];
    const known = new Set<bigint>();
    for (const key of this.#kept()) {
      // The server knows no others, and refuses their names.
      if (!this.#known.has(key)) continue;
      keep.push(key);
      known.add(key);
    }
    const items = this.#batch.map(({ item }) => item);
    this.#batch = [];
    this.#batchBytes = 0;
    this.#known = known;
    this.#isFull = !call.send(insertRequest({ chunks, items, keep }, HEAD));
  }

  #open(): void {
    this.#opening = true;
    let own: Call | undefined;
    const end = (error: unknown) => {
      if (own !== undefined && this.#call !== own) return;
      this.#call = undefined;
      this.#opening = false;
      this.#lost(error);
    };
    const drain = () => {
      this.#isFull = false;
      this.#send();
    };
    this.#channel.call("InsertStream", { message: (bytes) => this.#confirmed(bytes), end, drain }).then((call) => {
      own = call;
      this.#opening = false;
      if (this.#closed) {
        call.cancel();
        return;
      }
      this.#call = call;
      this.#isFull = false;
      this.#known = new Set();
      // All that has no confirmation, also what was sent on a stream before; the server tells it by its key.
      this.#batch = [...this.#unconfirmed.values()];
      this.#send();
    }, end);
  }

  #confirmed(bytes: Uint8Array): void {
    this.#backOff.reset();
    for (const key of readInsertResponse(bytes)) this.#unconfirmed.delete(key);
    this.#waiters.wake();
  }

  #lost(error: unknown): void {
    if (this.#closed) return;
    const ended = error ?? new ReplayError("IO", `the Reverb server at ${this.#channel.address} ended a stream of inserts before it had confirmed all of them`);
    // A server that goes down between two items is felt with the next one.
    if (this.#unconfirmed.size === 0 && this.#backOff.after(ended) !== undefined) return;
    const wait = this.#backOff.after(ended);
    if (wait === undefined) this.#fail(ended);
    else setTimeout(() => this.#reopen(), wait);
  }

  #reopen(): void {
    if (this.#closed || this.#opening || this.#call !== undefined || this.#unconfirmed.size === 0) return;
    this.#open();
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    this.#waiters.rejectAll(() => this.#error);
  }
}
