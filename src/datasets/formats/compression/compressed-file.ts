/** A single file that gzip or Zstandard compressed, as the file that was compressed. */
import { corruptFile } from "../../model/rlds-error.ts";
import { bytesFile } from "../sources/bytes-source.ts";
import type { SourceFile } from "../sources/source.ts";
import { gunzipPieces } from "./gzip.ts";
import { unzstdPieces } from "./zstd.ts";

export interface CompressedOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Whether what comes before a cut is read, too. */
  readonly salvage?: boolean;
}

type Pieces = (file: SourceFile, signal?: AbortSignal) => AsyncGenerator<Uint8Array, void, undefined>;

const CODECS: readonly (readonly [magic: readonly number[], pieces: Pieces, ending: RegExp])[] = [
  [[0x1f, 0x8b, 0x08], gunzipPieces, /\.gz(ip)?$/i],
  [[0x28, 0xb5, 0x2f, 0xfd], unzstdPieces, /\.zst(d)?$/i],
];
const MAGIC_BYTES = 4;

/** A file that is read from its beginning to its end again and again begins with a text, and no format that is read anywhere does. */
const HEAD_BYTES = 64;
const BINARY_NAMES = ["PAR1", "REPRISE1", "PK\x03\x04", "PK\x05\x06"];

/**
 * What was compressed; undefined for a file that is not. Text is decompressed as it is read, and once before, which tells its size. Anything else is in memory: at most maxBytes.
 * It owns the file. @throws RldsError CORRUPT
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

/** A pass over the file. */
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
          `the decompressed file takes more than the ${maxBytes} bytes that maxBytes allows, and is no text that could be read piece by piece. Decompress the file first`,
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

/** Bytes that are kept of those before the newest ones: a reader looks at the beginning, and then begins there. */
const MAX_BACK = 1 << 20;

/** Reads forward; a place before what is kept is reached from the beginning again. */
class StreamedFile implements SourceFile {
  readonly name: string;
  readonly size: number;
  readonly #file: SourceFile;
  readonly #pieces: Pieces;
  readonly #signal: AbortSignal | undefined;
  #source: AsyncGenerator<Uint8Array, void, undefined> | undefined;
  /** What is kept, and where it begins. */
  #kept: Uint8Array[] = [];
  #keptFrom = 0;
  #end = 0;
  /** Reads that wait for one another. */
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
      if (done === true || value === undefined) throw corruptFile({ file: this.#file.name }, "the file was replaced while it was read");
      this.#kept.push(value);
      this.#end += value.length;
      this.#forget(Math.min(at, this.#end - MAX_BACK));
    }
    return this.#copy(at, length);
  }

  /** Lets go of whole pieces before a place. */
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
