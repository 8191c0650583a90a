/** Delivers messages from the Replay's program to the actor's program. Each message is delivered once and in order, after the previous message was handled. */

import { fieldsOf, isCount, malformed } from "./validators.ts";
import type { UserMessage } from "./wire/messages.ts";

/** A message event like the events of MessagePorts and WebSockets. */
export interface MessageEventLike {
  /** The message. Bytes are a Uint8Array, and other values have the form that JSON gives them. */
  // biome-ignore lint/suspicious/noExplicitAny: the program's own value
  readonly data: any;
}

type MessageHandler = (event: MessageEventLike) => unknown;

const isUserMessage = fieldsOf({ number: isCount, type: (value) => value === "json" || value === "bytes", body: (value) => ArrayBuffer.isView(value) });

export class Inbox {
  /** The number of the last handled message. */
  #handled = 0;
  /** The number of the message that is being handled. */
  #current = 0;
  readonly #onReceipt: (number: number) => void;
  readonly #queue: { readonly number: number; readonly data: unknown }[] = [];
  #received = 0;
  #handler: MessageHandler | null = null;
  #isBusy = false;

  constructor(onReceipt: (number: number) => void) {
    this.#onReceipt = onReceipt;
  }

  /** The number of the last message that need not be repeated over a new link. A message that is being handled need not be repeated. */
  get receipt(): number {
    return Math.max(this.#handled, this.#current);
  }

  get handler(): MessageHandler | null {
    return this.#handler;
  }

  /** The program's handler. Without a handler, messages wait. */
  set handler(handler: MessageHandler | null) {
    this.#handler = handler;
    this.#run();
  }

  /** Receives a message, and ignores it if it arrived before. @throws ReplayError CORRUPT if the message is malformed */
  receive(message: UserMessage): void {
    if (!isUserMessage(message)) throw malformed("a message", "acceptWriter");
    const { number } = message;
    if (number <= this.#received) {
      // The message was sent again after the link broke, so its receipt was lost as well.
      if (number <= this.#handled) this.#onReceipt(this.#handled);
      return;
    }
    const data = dataOf(message);
    this.#received = number;
    this.#queue.push({ number, data });
    this.#run();
  }

  /** Starts over on a new link, which repeats unhandled messages. */
  restart(): void {
    this.#queue.length = 0;
    this.#received = this.receipt;
  }

  async #run(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (;;) {
      const handler = this.#handler;
      const message = handler === null ? undefined : this.#queue.shift();
      if (handler === null || message === undefined) break;
      this.#current = message.number;
      try {
        await handler({ data: message.data });
      } catch (error) {
        // The error is thrown like an error in an event listener: the program sees it, and no call rejects.
        setTimeout(() => {
          throw error;
        }, 0);
      }
      this.#handled = Math.max(this.#handled, message.number);
      this.#onReceipt(message.number);
    }
    this.#isBusy = false;
  }
}

/** Returns the data of a message. @throws ReplayError CORRUPT if a body of the type "json" is not valid JSON */
function dataOf({ type, body }: UserMessage): unknown {
  if (type === "bytes") return body;
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch (error) {
    throw malformed("a message", "acceptWriter", error);
  }
}
