/** A file from its beginning to its end, in blocks: while one is read the next one is on its way. */
import { corruptFile } from "../../model/rlds-error.ts";
import type { SourceFile } from "./source.ts";

const BLOCK = 1 << 20;
const EMPTY = new Uint8Array(0);

export interface ReadAheadOptions {
  readonly signal?: AbortSignal;
  /** Bytes that are asked for at once; 1 MiB where it is left out. Two such blocks are in memory. */
  readonly block?: number;
}

export class ReadAhead {
  /** Of the next byte. */
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

  /** Bytes that are left. */
  get remaining(): number {
    return this.file.size - this.position;
  }

  /** The next so many bytes: a view that stays as it is, of a block or of an array of its own. @throws RldsError CORRUPT where the file ends before */
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

  /** Goes past bytes; what is not on its way is not read. */
  skip(length: number): void {
    this.position = Math.min(this.position + length, this.file.size);
  }

  /** Waits for what is on its way, and closes the file. */
  async close(): Promise<void> {
    const prefetched = this.#prefetched;
    this.#prefetched = undefined;
    this.#current = EMPTY;
    await prefetched?.bytes.catch(() => undefined);
    await this.file.close();
  }

  /** The bytes where they are in the block that is held. */
  #readFromBlock(length: number): Uint8Array | undefined {
    const from = this.position - this.#currentStart;
    if (from < 0 || from + length > this.#current.length) return undefined;
    this.position += length;
    return this.#current.subarray(from, from + length);
  }

  /** Makes the block that is held the one of this position. */
  async #fill(): Promise<void> {
    if (this.position >= this.#currentStart && this.position < this.#currentStart + this.#current.length) return;
    this.#signal?.throwIfAborted();
    const prefetched = this.#prefetched;
    const isHit = prefetched !== undefined && this.position >= prefetched.at && this.position < prefetched.at + this.#block;
    // Only then the last one is let go: a failed file must not leave a read behind.
    if (prefetched !== undefined && !isHit) await prefetched.bytes.catch(() => undefined);
    this.#prefetched = undefined;
    const at = isHit ? prefetched.at : this.position;
    this.#current = await (isHit ? prefetched.bytes : this.#fetchBlock(at));
    this.#currentStart = at;
    const next = at + this.#current.length;
    if (next >= this.file.size) return;
    const bytes = this.#fetchBlock(next);
    // Whoever waits for it is told; nobody may.
    bytes.catch(() => undefined);
    this.#prefetched = { at: next, bytes };
  }

  #fetchBlock(at: number): Promise<Uint8Array> {
    return this.file.read(at, Math.min(this.#block, this.file.size - at));
  }
}
