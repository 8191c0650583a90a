/** Reads a file sequentially in blocks. While one block is used, the next block is requested. */
import { corruptFile } from "../../model/rlds-error.ts";
import type { SourceFile } from "./source.ts";

const BLOCK = 1 << 20;
const EMPTY = new Uint8Array(0);

export interface ReadAheadOptions {
  readonly signal?: AbortSignal;
  /** The number of bytes that are requested together. Two such blocks are in memory. Default: 1 MiB. */
  readonly block?: number;
}

export class ReadAhead {
  /** The offset of the next byte. */
  position = 0;
  readonly file: SourceFile;
  readonly #signal?: AbortSignal;
  readonly #block: number;
  #current: Uint8Array = EMPTY;
  #currentStart = 0;
  #prefetched?: { readonly at: number; readonly bytes: Promise<Uint8Array> };

  constructor(file: SourceFile, { signal, block = BLOCK }: ReadAheadOptions = {}) {
    this.file = file;
    this.#signal = signal;
    this.#block = block;
  }

  /** The number of remaining bytes. */
  get remaining(): number {
    return this.file.size - this.position;
  }

  /** Returns the next bytes, as a view that remains valid. @throws RldsError CORRUPT if the file ends earlier */
  async read(length: number): Promise<Uint8Array> {
    if (length > this.remaining) {
      throw corruptFile({ file: this.file.name, offset: this.file.size }, `the file ends ${length - this.remaining} bytes too early`);
    }
    const available = this.#readFromBlock(length);
    if (available !== undefined) return available;
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      await this.#fill();
      const part = this.#readFromBlock(Math.min(length - done, this.#currentStart + this.#current.length - this.position)) as Uint8Array;
      bytes.set(part, done);
      done += part.length;
    }
    return bytes;
  }

  /** Skips bytes. Skipped bytes that have not been requested yet are never read. */
  skip(length: number): void {
    this.position = Math.min(this.position + length, this.file.size);
  }

  /** Waits for the pending request and closes the file. */
  async close(): Promise<void> {
    const prefetched = this.#prefetched;
    this.#prefetched = undefined;
    this.#current = EMPTY;
    await prefetched?.bytes.catch(() => undefined);
    await this.file.close();
  }

  /** Returns the bytes if the current block contains them. */
  #readFromBlock(length: number): Uint8Array | undefined {
    const from = this.position - this.#currentStart;
    if (from < 0 || from + length > this.#current.length) return undefined;
    this.position += length;
    return this.#current.subarray(from, from + length);
  }

  /** Loads the block at the current position. */
  async #fill(): Promise<void> {
    if (this.position >= this.#currentStart && this.position < this.#currentStart + this.#current.length) return;
    this.#signal?.throwIfAborted();
    const prefetched = this.#prefetched;
    const isHit = prefetched !== undefined && this.position >= prefetched.at && this.position < prefetched.at + this.#block;
    // An unused request must also end, because no read may be pending after a failure.
    if (prefetched !== undefined && !isHit) await prefetched.bytes.catch(() => undefined);
    this.#prefetched = undefined;
    const at = isHit ? prefetched.at : this.position;
    this.#current = await (isHit ? prefetched.bytes : this.#fetchBlock(at));
    this.#currentStart = at;
    const next = at + this.#current.length;
    if (next >= this.file.size) return;
    const bytes = this.#fetchBlock(next);
    // The handler prevents an unhandled rejection if no consumer awaits the promise.
    bytes.catch(() => undefined);
    this.#prefetched = { at: next, bytes };
  }

  #fetchBlock(at: number): Promise<Uint8Array> {
    return this.file.read(at, Math.min(this.#block, this.file.size - at));
  }
}
