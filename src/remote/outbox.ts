/** Queues the messages that an actor sends: blocks, columns and calls, in order. Unconfirmed messages stay here, and are sent again after a socket broke. */

import { ReplayError } from "../base/error.ts";
import { abortable, type WaitOptions } from "../base/wait.ts";
import type { Block } from "../memory/block.ts";
import { reentrancyError } from "../memory/reentrancy.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { Link } from "./channels/link.ts";
import { decodeError } from "./channels/port.ts";
import { closedError, closedThere, inFlightError, offlineError, tooManyFlushes } from "./errors.ts";
import { makePending, type Pending } from "./pending.ts";
import { fieldsOf, isBuffer, isCount, malformed, maybe } from "./validators.ts";
import { creditBytes, rowBytesOf } from "./wire/block.ts";
import { BlockBuilder, columnsBytes } from "./wire/block-builder.ts";
import { ColumnMemory } from "./wire/column-memory.ts";
import type { BlockMessage, ByeMessage, ColumnsMessage, ConfirmationMessage, FlushMessage, ToActor, WelcomeMessage } from "./wire/messages.ts";
import { type FrameRules, piecesOf } from "./wire/pieces.ts";

const isConfirmation = fieldsOf({ number: isCount, buffer: maybe((value) => isBuffer(value) && (value as ArrayBuffer).byteLength % 8 === 0) });

/** The maximum number of calls to `flush` that wait for an answer. Together with the goodbye, these calls reach the limit of the Replay's end. */
const MAX_FLUSHES = 999;

/** A message that is sent in order, and sent again on the next link. */
interface Entry {
  readonly message: BlockMessage | ColumnsMessage | FlushMessage | ByeMessage;
  /** The number of a block; 0 for a call. */
  readonly number: number;
  /** The number of steps in the message, followed by the number of items per table. */
  readonly counts: readonly number[];
  /** The number of bytes that both ends count for the message toward `inFlightBytes`. */
  bytes: number;
  isSent: boolean;
}

export interface OutboxOptions {
  readonly leaves: readonly PlacedLeaf[];
  readonly lanes: number;
  readonly tables: number;
  readonly rules: number;
  /** The staged step, one per lane, and the offset of each leaf in the record. */
  readonly record: ArrayBuffer;
  readonly addresses: readonly number[];
  /** Whether calls are rejected while there is no link. */
  readonly failsOffline: boolean;
  /** Runs when nothing is sent or received any more. */
  readonly onDone: () => void;
}

export class Outbox {
  readonly builder: BlockBuilder;
  /** Whether a call is reading its arguments, which may run functions of the caller. */
  locked = false;
  readonly #options: OutboxOptions;
  readonly #rowBytes: number;
  #link: Link | undefined;
  /** The maximum number of steps in flight, and of items in flight per table; and the maximum number of bytes of sent messages. */
  readonly #max: number;
  #maxBytes = Number.POSITIVE_INFINITY;
  /** The limits of frames on a socket; undefined for a port. */
  #frameRules: FrameRules | undefined;
  /** The last returned buffer of columns. */
  #spareColumns: ArrayBuffer | undefined;
  /** The number of steps, followed by the number of items per table: in the open block, and in all unconfirmed messages. */
  #counts: number[];
  readonly #inFlight: Float64Array;
  /** Unconfirmed or unanswered messages, in order. */
  #entries: Entry[] = [];
  #numbers = 0;
  #confirmed = 0;
  #sentSteps = 0;
  #sentBytes = 0;
  #isScheduled = false;
  #room: Pending | undefined;
  readonly #flushes = new Map<number, Pending>();
  #flushCount = 0;
  #closing: Pending | undefined;
  #error: Error | undefined;

  constructor(options: OutboxOptions, { maxInFlight }: WelcomeMessage) {
    const { leaves, lanes, tables, record, addresses } = options;
    this.#options = options;
    this.#rowBytes = rowBytesOf(leaves);
    this.#max = maxInFlight;
    this.#counts = new Array(1 + tables).fill(0);
    this.#inFlight = new Float64Array(1 + tables);
    this.builder = new BlockBuilder(leaves, lanes, maxInFlight, record, addresses);
  }

  /** The number of unconfirmed steps. */
  get inFlight(): number {
    return this.#inFlight[0] as number;
  }

  /** Whether there is a link to the Replay. */
  get connected(): boolean {
    return this.#link !== undefined;
  }

  /** Whether everything except a goodbye is confirmed, so that a lost link loses nothing. */
  get hasOnlyGoodbye(): boolean {
    return this.#closing !== undefined && this.#entries.every(({ number }) => number === 0);
  }

  /** Continues over a link, and resends everything that the Replay does not have. @throws ReplayError if the Replay has lost confirmed blocks */
  attach(link: Link, { received, confirmed, frameBytes, shared = [], inFlightBytes = Number.POSITIVE_INFINITY }: WelcomeMessage): void {
    if (received < this.#confirmed || received > this.#numbers || confirmed > received)
      throw new ReplayError("CORRUPT", `the Replay has only the blocks up to ${received} of this session, but has confirmed blocks up to ${this.#confirmed}`);
    this.#link = link;
    this.#frameRules = frameBytes === undefined ? undefined : { frameBytes, shared };
    this.#maxBytes = inFlightBytes;
    this.#sentSteps = 0;
    this.#sentBytes = 0;
    for (const entry of this.#entries) {
      entry.isSent = entry.number > 0 && entry.number <= received;
      if (!entry.isSent) continue;
      this.#sentSteps += entry.counts[0] as number;
      this.#sentBytes += entry.bytes;
    }
    this.#confirm(confirmed);
    link.keepAlive(this.#entries.length > 0);
    this.#pump();
  }

  /** Handles a broken link that a new link will replace. */
  detach(): void {
    this.#link = undefined;
    // Waiting steps are already accepted, and are sent when there is a link again. An error would make the caller append them again.
    if (this.#options.failsOffline) this.#rejectFlushes(offlineError());
  }

  /**
   * Checks that a step may be added. @throws ReplayError RATE_LIMITED if too many steps are in flight, CLOSED after `close`, IO if there is no link and calls
   * must not wait, or the error of the Replay's end
   */
  ready(): void {
    this.open();
    const steps = this.#inFlight[0] as number;
    if (steps >= this.#max) throw inFlightError(steps, "steps", this.#max, "append");
  }

  /** Checks whether an item may be added after a step. Allows twice `maxInFlight` items, since the step may have reached the limit. */
  readyForItem(table: number): void {
    this.open();
    const items = this.#inFlight[1 + table] as number;
    if (items >= 2 * this.#max) throw inFlightError(items, "items", this.#max, "createItem");
  }

  /** Checks the state of the writer, for calls that no limit restricts. */
  open(): void {
    if (this.locked) throw reentrancyError();
    if (this.#error !== undefined) throw this.#error;
    if (this.#closing !== undefined) throw closedError();
    if (this.#link === undefined && this.#options.failsOffline) throw offlineError();
  }

  /** Makes room for `slots` slots in one block, and for a call with `columnBytes` bytes of columns. */
  reserve(slots: number, columnBytes = 0): void {
    if (this.builder.isFull(slots, columnBytes)) this.send();
    this.builder.open();
  }

  /** Sends columns after all earlier messages, in pieces if they do not fit into one frame. */
  sendColumns(place: (memory: ColumnMemory) => Block): { readonly rows: number; readonly room: Promise<void> | undefined } {
    const { leaves } = this.#options;
    const memory = new ColumnMemory(this.#spareColumns);
    const { rows, ends, finals, endCount } = place(memory);
    this.send();
    this.#spareColumns = undefined;
    const { buffer, u32 } = memory;
    const places = (from: number, n: number) => Array.from(u32.subarray(from / 4, from / 4 + n));
    const message: ColumnsMessage = {
      kind: "columns",
      number: 0,
      buffer,
      rows,
      columns: places(0, leaves.length),
      ends,
      finals: finals === 0 ? 0 : endCount,
      finalColumns: finals === 0 ? [] : places(finals, leaves.length),
      priorities: places(4 * leaves.length, this.#options.rules),
    };
    for (const piece of this.#frameRules === undefined ? [message] : piecesOf(message, leaves, this.#options.lanes, this.#frameRules)) {
      const number = ++this.#numbers;
      this.#add(
        { ...piece, number },
        number,
        this.#counts.map((_, index) => (index === 0 ? piece.rows : 0)),
      );
    }
    (this.#inFlight[0] as number) += rows;
    this.#pump();
    return { rows, room: this.inFlight >= this.#max ? this.#waitForRoom() : undefined };
  }

  /**
   * Records a call after the steps of the block so far. @param columns the columns of an item as text @throws ReplayError UNSUPPORTED if the text is too long
   * for a frame
   */
  call(kind: number, a: number, b = 0, c = 0, d = 0, columns?: string): void {
    this.reserve(0, columns === undefined ? 0 : columnsBytes(columns));
    this.builder.call(kind, a, b, c, d, columns);
  }

  /** Completes a call with `steps` steps. Returns `undefined`, or a promise if the caller must wait because too many steps are in flight. */
  addSteps(steps: number): Promise<void> | undefined {
    return this.#addCount(0, steps);
  }

  addItem(table: number): Promise<void> | undefined {
    return this.#addCount(1 + table, 1);
  }

  #addCount(index: number, n: number): Promise<void> | undefined {
    (this.#counts[index] as number) += n;
    (this.#inFlight[index] as number) += n;
    const isFull = () => (this.#inFlight[index] as number) >= this.#max;
    if (isFull() || this.builder.isComplete) this.send();
    else this.#sendSoon();
    return isFull() ? this.#waitForRoom() : undefined;
  }

  /** Sends the remaining steps when the actor does something else, such as waiting for its environment. */
  #sendSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.send();
    }, 0);
  }

  /** Sends the open block. */
  send(): void {
    if (this.#error !== undefined) return;
    const message = this.builder.finish(this.#numbers + 1);
    if (message === undefined) return;
    this.#numbers++;
    this.#add(message, message.number, this.#counts);
    this.#counts = this.#counts.map(() => 0);
    this.#pump();
  }

  #add(message: Entry["message"], number = 0, counts: readonly number[] = []): void {
    this.#entries.push({ message, number, counts, bytes: 0, isSent: false });
  }

  /** Sends pending messages. Sends blocks only while few steps and bytes are in flight. */
  #pump(): void {
    const link = this.#link;
    if (link === undefined) return;
    for (const entry of this.#entries) {
      if (entry.isSent) continue;
      const { message, number, counts } = entry;
      if (number > 0 && (this.#sentSteps >= this.#max || this.#sentBytes >= this.#maxBytes)) return;
      const { buffer } = message as BlockMessage;
      link.keepAlive(true);
      entry.isSent = true;
      this.#sentSteps += counts[0] ?? 0;
      const frameBytes = link.post(message, link.transfers && number > 0 ? [buffer] : []);
      // The channel may have delivered its confirmation in the meantime.
      if (number <= this.#confirmed) continue;
      entry.bytes = creditBytes(message as BlockMessage | ColumnsMessage, frameBytes, this.#options.lanes, this.#rowBytes);
      this.#sentBytes += entry.bytes;
    }
  }

  /**
   * Resolves when the Replay has everything that was sent before the call, and no item is waiting. @throws ReplayError RATE_LIMITED if 999 calls, with steps
   * between them, are waiting
   */
  async flush(options: WaitOptions): Promise<void> {
    this.send();
    const last = this.#entries.at(-1)?.message;
    // If nothing was sent since the last flush, the answer to that flush also serves this call.
    const known = last?.kind === "flush" ? this.#flushes.get(last.id) : undefined;
    const { promise } = known ?? this.#addFlush();
    this.#pump();
    return abortable(promise, "steps are still in flight, or items are waiting for the rate limiter", options);
  }

  #addFlush(): Pending {
    if (this.#flushes.size >= MAX_FLUSHES) throw tooManyFlushes(this.#flushes.size);
    const id = this.#flushCount++;
    const pending = makePending();
    this.#flushes.set(id, pending);
    this.#add({ kind: "flush", id });
    return pending;
  }

  /** Sends the remaining steps, then a goodbye. Resolves when the Replay has received everything. */
  close(options: WaitOptions): Promise<void> {
    if (this.locked) throw reentrancyError();
    if (this.#closing === undefined) {
      if (this.#error !== undefined) return this.inFlight === 0 ? Promise.resolve() : Promise.reject(this.#error);
      this.send();
      this.#closing = makePending();
      this.#add({ kind: "bye" });
      this.#pump();
    }
    return abortable(this.#closing.promise, "steps are still in flight", options);
  }

  /** Handles an answer from the Replay's end. */
  receive(message: ToActor): void {
    switch (message?.kind) {
      case "confirmation":
        if (!isConfirmation(message) || !this.#isSent(message.number)) {
          this.fail(malformed("an answer", "acceptWriter"));
          return;
        }
        this.#takeBack(message);
        break;
      case "flushed":
        this.#flushes.get(message.id)?.resolve();
        this.#flushes.delete(message.id);
        this.#entries = this.#entries.filter((entry) => entry.message.kind !== "flush" || entry.message.id !== message.id);
        break;
      case "closed":
        if (message.error !== undefined) this.fail(decodeError(message.error));
        // The message answers a goodbye; without a goodbye, messages in flight may be lost.
        else if (this.#closing === undefined) this.fail(closedThere());
        else this.end();
        return;
      case "refused":
        this.fail(decodeError(message.error));
        return;
      default:
        this.fail(malformed("an answer", "acceptWriter"));
        return;
    }
    if (this.#entries.length === 0) this.#link?.keepAlive(false);
  }

  /** Returns whether a block of this number was sent. */
  #isSent(number: number): boolean {
    return number <= this.#confirmed || this.#entries.some((entry) => entry.number === number && entry.isSent);
  }

  #takeBack({ number, buffer }: ConfirmationMessage): void {
    if (buffer !== undefined && !this.builder.recycle(buffer)) this.#spareColumns = buffer;
    this.#confirm(number);
    this.#pump();
  }

  #confirm(number: number): void {
    if (number <= this.#confirmed) return;
    this.#confirmed = number;
    const isOver = (entry: Entry) => entry.number > 0 && entry.number <= number;
    for (const entry of this.#entries) {
      if (!isOver(entry)) continue;
      this.#sentSteps -= entry.counts[0] as number;
      this.#sentBytes -= entry.bytes;
      entry.counts.forEach((count, index) => {
        (this.#inFlight[index] as number) -= count;
      });
      const { kind, buffer } = entry.message as BlockMessage;
      // Over a port, the buffer was transferred. It comes back with the block's confirmation (`#takeBack`).
      if (kind === "block" && buffer.byteLength > 0) this.builder.recycle(buffer);
    }
    const columns = this.#entries.filter((entry) => isOver(entry) && entry.message.kind === "columns").map(({ message }) => (message as ColumnsMessage).buffer);
    this.#entries = this.#entries.filter((entry) => !isOver(entry));
    const last = columns.at(-1);
    const isFree = last !== undefined && last.byteLength > 0 && !this.#entries.some(({ message }) => (message as ColumnsMessage).buffer === last);
    if (isFree) this.#spareColumns = last;
    if (this.#inFlight.some((count) => count >= this.#max)) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  #waitForRoom(): Promise<void> {
    this.#room ??= makePending();
    return this.#room.promise;
  }

  #rejectFlushes(error: Error): void {
    for (const { reject } of this.#flushes.values()) reject(error);
    this.#flushes.clear();
    this.#entries = this.#entries.filter(({ message }) => message.kind !== "flush");
  }

  /** Makes every later call throw this error. */
  fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#closing?.reject(error);
    this.#room?.reject(error);
    this.#room = undefined;
    this.#rejectFlushes(error);
    this.#release();
  }

  /** Ends normally. */
  end(): void {
    if (this.#error !== undefined) return;
    this.#room?.resolve();
    for (const { resolve } of this.#flushes.values()) resolve();
    this.#closing?.resolve();
    this.#error = closedError();
    this.#release();
  }

  #release(): void {
    this.builder.drop();
    this.#flushes.clear();
    this.#link = undefined;
    this.#options.onDone();
  }
}
