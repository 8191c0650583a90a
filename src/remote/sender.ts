/** Messages of the memory's program, on their way to an actor: in order, each once, with bounded bytes on their way; of what is published only the newest waits. */
import { ReplayError } from "../base/error.ts";
import type { EncodedMessage } from "../base/publication.ts";
import type { Link } from "./channels/link.ts";

/** Bytes without a receipt beyond which nothing more is sent; and those beyond which a program has to wait. */
const IN_FLIGHT_BYTES = 1 << 18;
const WAITING_BYTES = 1 << 20;

interface Entry extends EncodedMessage {
  readonly isPublication: boolean;
  /** 0 before it is sent. */
  number: number;
}

export class MessageSender {
  #link: Link | undefined;
  /** Those without a receipt: first those that are sent, by their numbers. */
  #entries: Entry[] = [];
  #numbers = 0;
  /** Of all entries that were not published, and of those that are sent. */
  #waitingBytes = 0;
  #sentBytes = 0;
  #room: { resolve(): void; reject(reason: unknown): void; readonly promise: Promise<void> } | undefined;
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
    this.#waitingBytes += message.body.length;
    this.#entries.push({ ...message, isPublication: false, number: 0 });
    this.#pump();
    return this.#waitingBytes >= WAITING_BYTES ? this.#waitForRoom() : undefined;
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
      const { body, isPublication } = this.#entries.shift() as Entry;
      this.#sentBytes -= body.length;
      if (!isPublication) this.#waitingBytes -= body.length;
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
    this.#room?.reject(error);
  }

  #pump(): void {
    const link = this.#link;
    if (link === undefined) return;
    for (const entry of this.#entries) {
      if (entry.number > 0) continue;
      if (this.#sentBytes >= IN_FLIGHT_BYTES) return;
      entry.number = ++this.#numbers;
      this.#sentBytes += entry.body.length;
      const { number, type, body } = entry;
      link.post({ kind: "message", number, type, body });
    }
  }

  #waitForRoom(): Promise<void> {
    if (this.#room === undefined) {
      let resolvers: { resolve(): void; reject(reason: unknown): void } | undefined;
      const promise = new Promise<void>((resolve, reject) => {
        resolvers = { resolve, reject };
      });
      promise.catch(() => {});
      this.#room = { ...(resolvers as unknown as { resolve(): void; reject(reason: unknown): void }), promise };
    }
    return this.#room.promise;
  }
}
