/**
 * Sends messages from the Replay's program to an actor. Each message is sent once and in order, with limited bytes in flight. Only the newest published message
 * waits.
 */
import { ReplayError } from "../base/error.ts";
import type { EncodedMessage } from "../base/publication.ts";
import type { Link } from "./channels/link.ts";
import { makePending, type Pending } from "./pending.ts";

/** The number of bytes without a receipt above which sending stops, and the number above which the program has to wait. */
const IN_FLIGHT_BYTES = 1 << 18;
const WAITING_BYTES = 1 << 20;
/** The number of bytes that a message counts in addition to its body, so that empty messages are also limited. */
const HEAD_BYTES = 64;

interface Entry extends EncodedMessage {
  readonly isPublication: boolean;
  /** The number of the message; 0 before it is sent. */
  number: number;
}

export class MessageSender {
  #link: Link | undefined;
  /** Messages without a receipt, beginning with the sent messages in order. */
  #entries: Entry[] = [];
  #sentEntries = 0;
  #numbers = 0;
  /** The number of bytes of all messages without a receipt except published messages, and the number of bytes of all sent messages without a receipt. */
  #waitingBytes = 0;
  #sentBytes = 0;
  #room: Pending | undefined;
  #error: Error | undefined;

  /** Sent bytes without a receipt. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** Continues over a link whose other end has handled messages up to `receipt`. */
  attach(link: Link, receipt: number): void {
    this.#numbers = Math.max(this.#numbers, receipt);
    this.receive(receipt);
    this.#link = link;
    for (const { number, type, body } of this.#entries) if (number > 0) link.post({ kind: "message", number, type, body });
    this.#pump();
  }

  detach(): void {
    this.#link = undefined;
  }

  /**
   * Sends a message after all earlier messages.
   * @returns `undefined`, or, if too much is in flight, a promise to await
   * @throws ReplayError RATE_LIMITED if such a promise was not awaited · the error with which the sender was closed
   */
  send(message: EncodedMessage): Promise<void> | undefined {
    if (this.#error !== undefined) throw this.#error;
    if (this.#waitingBytes >= WAITING_BYTES)
      throw new ReplayError("RATE_LIMITED", `${this.#waitingBytes} bytes of messages to the actor are already in flight. Await the promise from send`);
    this.#waitingBytes += sizeOf(message);
    this.#entries.push({ ...message, isPublication: false, number: 0 });
    this.#pump();
    if (this.#waitingBytes < WAITING_BYTES) return undefined;
    this.#room ??= makePending();
    return this.#room.promise;
  }

  /** Sends a message after all earlier messages, and replaces a published message that is still waiting. */
  publish(message: EncodedMessage): void {
    if (this.#error !== undefined) return;
    this.#entries = this.#entries.filter(({ isPublication, number }) => !isPublication || number > 0);
    this.#entries.push({ ...message, isPublication: true, number: 0 });
    this.#pump();
  }

  /** Handles the receipt of messages up to this number. */
  receive(receipt: number): void {
    while (this.#entries[0] !== undefined && this.#entries[0].number > 0 && this.#entries[0].number <= receipt) {
      const entry = this.#entries.shift() as Entry;
      this.#sentEntries--;
      this.#sentBytes -= sizeOf(entry);
      if (!entry.isPublication) this.#waitingBytes -= sizeOf(entry);
    }
    if (this.#waitingBytes < WAITING_BYTES) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    this.#pump();
  }

  /** Stops sending. */
  close(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#link = undefined;
    this.#entries = [];
    this.#sentEntries = 0;
    this.#room?.reject(error);
  }

  #pump(): void {
    const link = this.#link;
    if (link === undefined) return;
    while (this.#sentEntries < this.#entries.length && this.#sentBytes < IN_FLIGHT_BYTES) {
      const entry = this.#entries[this.#sentEntries++] as Entry;
      entry.number = ++this.#numbers;
      this.#sentBytes += sizeOf(entry);
      const { number, type, body } = entry;
      link.post({ kind: "message", number, type, body });
    }
  }
}

function sizeOf({ body }: EncodedMessage): number {
  return HEAD_BYTES + body.length;
}
