/** A file from its beginning to its end, in blocks: while one is read the next one is on its way. */
import { RldsError } from "../../model/rlds-error.ts";
import type { SourceFile } from "./source.ts";

const BLOCK = 1 << 20;
const NOTHING = new Uint8Array(0);

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
  #held: Uint8Array = NOTHING;
  #heldAt = 0;
  #ahead?: { readonly at: number; readonly bytes: Promise<Uint8Array> };

  constructor(file: SourceFile, { signal, block = BLOCK }: ReadAheadOptions = {}) {
    this.file = file;
    this.#signal = signal;
    this.#block = block;
  }

  /** Bytes that are left. */
  get left(): number {
    return this.file.size - this.position;
  }

  /** The next so many bytes: a view that stays as it is, of a block or of an array of its own. @throws RldsError CORRUPT where the file ends before */
  async read(length: number): Promise<Uint8Array> {
    if (length > this.left) {
      throw new RldsError("CORRUPT", `the file ends ${length - this.left} bytes too early`, { file: this.file.name, offset: this.file.size });
    }
    const within = this.#within(length);
    if (within !== undefined) return within;
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      await this.#fill();
      const part = this.#within(Math.min(length - done, this.#heldAt + this.#held.length - this.position)) as Uint8Array;
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
    const ahead = this.#ahead;
    this.#ahead = undefined;
    this.#held = NOTHING;
    await ahead?.bytes.catch(() => undefined);
    await this.file.close();
  }

  /** The bytes where they are in the block that is held. */
  #within(length: number): Uint8Array | undefined {
    const from = this.position - this.#heldAt;
    if (from < 0 || from + length > this.#held.length) return undefined;
    this.position += length;
    return this.#held.subarray(from, from + length);
  }

  /** Makes the block that is held the one of this position. */
  async #fill(): Promise<void> {
    if (this.position >= this.#heldAt && this.position < this.#heldAt + this.#held.length) return;
    this.#signal?.throwIfAborted();
    const ahead = this.#ahead;
    const fits = ahead !== undefined && this.position >= ahead.at && this.position < ahead.at + this.#block;
    // Only then the last one is let go: a failed file must not leave a read behind.
    if (ahead !== undefined && !fits) await ahead.bytes.catch(() => undefined);
    this.#ahead = undefined;
    const at = fits ? ahead.at : this.position;
    this.#held = await (fits ? ahead.bytes : this.#ask(at));
    this.#heldAt = at;
    const next = at + this.#held.length;
    if (next >= this.file.size) return;
    const bytes = this.#ask(next);
    // Whoever waits for it is told; nobody may.
    bytes.catch(() => undefined);
    this.#ahead = { at: next, bytes };
  }

  #ask(at: number): Promise<Uint8Array> {
    return this.file.read(at, Math.min(this.#block, this.file.size - at));
  }
}
