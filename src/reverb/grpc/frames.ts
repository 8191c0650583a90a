/** Splits a stream of bytes into messages. Each message is preceded by a byte that marks compression, and by its length in four bytes. */
import { concat } from "../../base/bytes.ts";

/** The number of bytes before a message. */
export const HEAD = 5;

/** Writes the head into the free bytes before a message. */
export function frameMessage(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const length = bytes.length - HEAD;
  bytes[0] = 0;
  bytes[1] = length >>> 24;
  bytes[2] = length >>> 16;
  bytes[3] = length >>> 8;
  bytes[4] = length;
  return bytes;
}

/** Parts of fewer bytes than this are merged with the parts before them. */
const SMALL = 4096;

/** Splits incoming bytes into messages. A message that arrives in one piece is not copied. */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #onMessage: (message: Uint8Array) => void;
  #parts: Uint8Array[] = [];
  /** The number of bytes in these parts, and the number of bytes that are needed to continue. */
  #pendingBytes = 0;
  #neededBytes = HEAD;

  constructor(maxBytes: number, onMessage: (message: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#onMessage = onMessage;
  }

  /** Whether a message has started but not ended. */
  get isPartial(): boolean {
    return this.#pendingBytes > 0;
  }

  /** Adds received bytes. @returns the reason if the stream cannot be read any further */
  push(bytes: Uint8Array): string | undefined {
    this.#add(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes < this.#neededBytes) return undefined;
    const all = this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : concat(this.#parts);
    let at = 0;
    for (;;) {
      const remaining = all.length - at;
      if (remaining < HEAD) {
        this.#neededBytes = HEAD;
        break;
      }
      if (all[at] !== 0) return "a message is compressed or invalid, but this client requests uncompressed messages";
      const length = (((all[at + 1] as number) << 24) | ((all[at + 2] as number) << 16) | ((all[at + 3] as number) << 8) | (all[at + 4] as number)) >>> 0;
      if (length > this.#maxBytes) return `a message has ${length} bytes, and maxMessageBytes is ${this.#maxBytes}`;
      this.#neededBytes = HEAD + length;
      if (remaining < this.#neededBytes) break;
      this.#onMessage(all.subarray(at + HEAD, at + HEAD + length));
      at += HEAD + length;
    }
    this.#parts = at === all.length ? [] : [at === 0 ? all : all.subarray(at)];
    this.#pendingBytes = all.length - at;
    return undefined;
  }

  /** Merges a small part with the parts before it while they are not larger, because an array for a single byte takes a hundred bytes. */
  #add(bytes: Uint8Array): void {
    let last = bytes;
    for (let previous = this.#parts.at(-1); previous !== undefined && last.length < SMALL && previous.length <= last.length; previous = this.#parts.at(-1)) {
      this.#parts.pop();
      last = concat([previous, last]);
    }
    this.#parts.push(last);
  }
}
