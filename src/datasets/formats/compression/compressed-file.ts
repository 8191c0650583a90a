/** Presents a file that is compressed with gzip or Zstandard as the original file. */
import { corruptFile } from "../../model/rlds-error.ts";
import { bytesFile } from "../sources/bytes-source.ts";
import type { SourceFile } from "../sources/source.ts";
import { gunzipPieces } from "./gzip.ts";
import { unzstdPieces } from "./zstd.ts";

/** The options for decompressing a file. */
export interface CompressedOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Whether to read a damaged or truncated file up to the damage. If false or undefined, damage throws. */
  readonly salvage?: boolean;
}

type Pieces = (file: SourceFile, signal?: AbortSignal) => AsyncGenerator<Uint8Array, void, undefined>;

const CODECS: readonly (readonly [magic: readonly number[], pieces: Pieces, ending: RegExp])[] = [
  [[0x1f, 0x8b, 0x08], gunzipPieces, /\.gz(ip)?$/i],
  [[0x28, 0xb5, 0x2f, 0xfd], unzstdPieces, /\.zst(d)?$/i],
];
const MAGIC_BYTES = 4;

/**
 * The number of bytes at the beginning of the content that determine whether it is text. Only text is streamed, because no format that requires random access
 * begins with text.
 */
const HEAD_BYTES = 64;
const BINARY_NAMES = ["PAR1", "REPRISE1", "PK\x03\x04", "PK\x05\x06"];

/**
 * Returns the decompressed file, or undefined if the file is not compressed. The file is decompressed once to determine its size. Text is then decompressed
 * again while it is read. Other content is decompressed into memory. Takes ownership of the file if it is compressed, unless an error is thrown.
 * @throws RldsError CORRUPT if the file is damaged, or if its content is not text and takes more than maxBytes
 */
export async function decompressedFile(file: SourceFile, options: CompressedOptions): Promise<SourceFile | undefined> {
  const head = await file.read(0, Math.min(file.size, MAGIC_BYTES));
  const [, pieces, ending] = CODECS.find(([magic]) => magic.every((byte, i) => head[i] === byte)) ?? [];
  if (pieces === undefined || ending === undefined) return undefined;
  const name = file.name.replace(ending, "");
  const { size, isText } = await measure(file, pieces, options);
  if (isText) return new StreamedFile(name, size, file, pieces, options.signal);
  const bytes = new Uint8Array(size);
  let done = 0;
  for await (const piece of pieces(file, options.signal)) {
    const part = piece.subarray(0, size - done);
    bytes.set(part, done);
    done += part.length;
    if (done === size) break;
  }
  await file.close();
  return bytesFile(name, bytes);
}

/** Decompresses the file once, and returns the size of its content and whether it is text. With `salvage`, the size of a damaged file ends at the damage. */
async function measure(file: SourceFile, pieces: Pieces, { maxBytes, signal, salvage }: CompressedOptions): Promise<{ size: number; isText: boolean }> {
  let size = 0;
  let head = "";
  let isText = false;
  try {
    for await (const piece of pieces(file, signal)) {
      if (head.length < HEAD_BYTES) {
        head += String.fromCharCode(...piece.subarray(0, HEAD_BYTES - head.length));
        isText = isTextual(head);
      }
      size += piece.length;
      if (!isText && size > maxBytes)
        throw corruptFile(
          { file: file.name },
          `the decompressed file takes more than the ${maxBytes} bytes that maxBytes allows, and only text can be read in parts. Decompress the file first`,
        );
    }
  } catch (error) {
    const isDamage = (error as { readonly code?: unknown }).code === "CORRUPT" && (isText || size <= maxBytes);
    if (salvage !== true || size === 0 || !isDamage) throw error;
  }
  return { size, isText };
}

function isTextual(head: string): boolean {
  if (BINARY_NAMES.some((name) => head.startsWith(name))) return false;
  for (let i = 0; i < head.length; i++) {
    const code = head.charCodeAt(i);
    if (code < 9 || (code > 13 && code < 32)) return false;
  }
  return true;
}

/**
 * The number of bytes that are kept before the end of the decompressed bytes, because a reader first inspects the beginning of the file and then returns to it.
 */
const MAX_BACK = 1 << 20;

/** A decompressed file that is meant to be read from the beginning to the end. A read before the kept bytes restarts the decompression. */
class StreamedFile implements SourceFile {
  readonly name: string;
  readonly size: number;
  readonly #file: SourceFile;
  readonly #pieces: Pieces;
  readonly #signal: AbortSignal | undefined;
  #source: AsyncGenerator<Uint8Array, void, undefined> | undefined;
  /** The kept pieces. `#keptFrom` is the offset of the first piece, and `#end` is the end of the last piece. */
  #kept: Uint8Array[] = [];
  #keptFrom = 0;
  #end = 0;
  /** The most recent read. The next read waits for it. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(name: string, size: number, file: SourceFile, pieces: Pieces, signal: AbortSignal | undefined) {
    this.name = name;
    this.size = size;
    this.#file = file;
    this.#pieces = pieces;
    this.#signal = signal;
  }

  read(at: number, length: number): Promise<Uint8Array> {
    const bytes = this.#turn.then(() => this.#read(at, length));
    this.#turn = bytes.catch(() => undefined);
    return bytes;
  }

  async #read(at: number, length: number): Promise<Uint8Array> {
    if (at + length > this.size) throw corruptFile({ file: this.name, offset: this.size }, `the file ends ${at + length - this.size} bytes too early`);
    if (this.#source === undefined || at < this.#keptFrom) await this.#restart();
    const source = this.#source as AsyncGenerator<Uint8Array, void, undefined>;
    while (this.#end < at + length) {
      const { value, done } = await source.next();
      if (done === true || value === undefined) throw corruptFile({ file: this.#file.name }, "the file was replaced while it was being read");
      this.#kept.push(value);
      this.#end += value.length;
      this.#forget(Math.min(at, this.#end - MAX_BACK));
    }
    return this.#copy(at, length);
  }

  /** Releases all pieces that end at or before an offset. */
  #forget(place: number): void {
    let count = 0;
    while (count < this.#kept.length && this.#keptFrom + (this.#kept[count] as Uint8Array).length <= place) {
      this.#keptFrom += (this.#kept[count] as Uint8Array).length;
      count++;
    }
    if (count > 0) this.#kept = this.#kept.slice(count);
  }

  #copy(at: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    let from = this.#keptFrom;
    for (const piece of this.#kept) {
      const begin = Math.max(at, from);
      const end = Math.min(at + length, from + piece.length);
      if (begin < end) bytes.set(piece.subarray(begin - from, end - from), begin - at);
      from += piece.length;
    }
    return bytes;
  }

  async #restart(): Promise<void> {
    await this.#source?.return();
    this.#source = this.#pieces(this.#file, this.#signal);
    this.#kept = [];
    this.#keptFrom = 0;
    this.#end = 0;
  }

  async close(): Promise<void> {
    await this.#source?.return();
    await this.#file.close();
  }
}
