/** Messages of the memory's program, on their way to an actor: in order, each once, with bounded bytes on their way; of what is published only the newest waits. */
import { ReplayError } from "../base/error.ts";
import type { EncodedMessage } from "../base/publication.ts";
import type { Link } from "./channels/link.ts";
import { makePending, type Pending } from "./pending.ts";

/** Bytes without a receipt beyond which nothing more is sent; and those beyond which a program has to wait. */
const IN_FLIGHT_BYTES = 1 << 18;
const WAITING_BYTES = 1 << 20;
/** What a message counts beside its body: its head and text, so that empty ones are bounded, too. */
const HEAD_BYTES = 64;

interface Entry extends EncodedMessage {
  readonly isPublication: boolean;
  /** 0 before it is sent. */
  number: number;
}

export class MessageSender {
  #link: Link | undefined;
  /** Those without a receipt: first those that are sent, by their numbers. */
  #entries: Entry[] = [];
  #sentEntries = 0;
  #numbers = 0;
  /** Of all entries that were not published, and of those that are sent. */
  #waitingBytes = 0;
  #sentBytes = 0;
  #room: Pending | undefined;
  #error: Error | undefined;

  /** Bytes that were sent, and have no receipt. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** Goes on over a link whose other end has handled messages up to `receipt`. */
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
   * Sends a message after all others.
   * @returns `undefined`, or a promise to await where so much is on its way: until there is room
   * @throws ReplayError RATE_LIMITED where such a promise was not awaited · CLOSED
   */
  send(message: EncodedMessage): Promise<void> | undefined {
    if (this.#error !== undefined) throw this.#error;
    if (this.#waitingBytes >= WAITING_BYTES)
      throw new ReplayError("RATE_LIMITED", `${this.#waitingBytes} bytes of messages are on their way to the actor already: await what send gives`);
    this.#waitingBytes += sizeOf(message);
    this.#entries.push({ ...message, isPublication: false, number: 0 });
    this.#pump();
    if (this.#waitingBytes < WAITING_BYTES) return undefined;
    this.#room ??= makePending();
    return this.#room.promise;
  }

  /** Sends a message after all others, in the place of one that was published before and still waits. */
  publish(message: EncodedMessage): void {
    if (this.#error !== undefined) return;
    this.#entries = this.#entries.filter(({ isPublication, number }) => !isPublication || number > 0);
    this.#entries.push({ ...message, isPublication: true, number: 0 });
    this.#pump();
  }

  /** The actor has handled the messages up to this one. */
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

  /** Nothing more is sent. */
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
