/** Writes a zip archive, entry by entry. Each entry is complete before it is written. Entries and archives larger than 4 GiB use 64-bit numbers. */
import type { StagedFile } from "../sinks/staging.ts";
import { crc32 } from "./zip.ts";

const MAX_32 = 0xffffffff;
const VERSION = 20;
const VERSION_64 = 45;
/** The flag that marks names as UTF-8. */
const FLAGS = 1 << 11;
/** The date of every entry. It is always January 1, 1980, so that the same data produces the same bytes. */
const DATE = (1 << 5) | 1;

interface WrittenEntry {
  readonly name: Uint8Array;
  readonly crc: number;
  readonly size: number;
  readonly compressed: number;
  readonly method: number;
  readonly at: number;
}

export class ZipWriter {
  readonly #file: StagedFile;
  readonly #entries: WrittenEntry[] = [];

  constructor(file: StagedFile) {
    this.#file = file;
  }

  /** Adds an entry. @param pieces the content, which must not change until all pieces are written @param deflates whether to compress the pieces */
  async add(name: string, pieces: readonly Uint8Array[], deflates: boolean): Promise<void> {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    const stored = deflates ? await deflate(pieces) : pieces;
    const entry: WrittenEntry = {
      name: new TextEncoder().encode(name),
      crc: pieces.reduce((crc, piece) => crc32(piece, crc), 0),
      size,
      compressed: stored.reduce((sum, { length }) => sum + length, 0),
      method: deflates ? 8 : 0,
      at: this.#file.bytes,
    };
    this.#entries.push(entry);
    await this.#file.write(localHeader(entry));
    for (const piece of stored) await this.#file.write(piece);
  }

  /** Writes the directory of the archive. */
  async finish(): Promise<void> {
    const at = this.#file.bytes;
    for (const entry of this.#entries) await this.#file.write(directoryHeader(entry));
    const size = this.#file.bytes - at;
    await this.#file.write(endOf({ count: this.#entries.length, size, at, end: this.#file.bytes }));
  }
}

async function deflate(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const { Deflate } = await import("fflate");
  const output: Uint8Array[] = [];
  const stream = new Deflate({ level: 6 }, (chunk) => {
    output.push(chunk);
  });
  for (const piece of pieces) stream.push(piece);
  stream.push(new Uint8Array(0), true);
  return output;
}

/** Returns consecutive little-endian numbers, each passed as `[value, bytes]`, followed by the bytes of `tail`. */
function record(fields: readonly (readonly [value: number, bytes: 2 | 4 | 8])[], ...tail: readonly Uint8Array[]): Uint8Array {
  const length = fields.reduce((sum, [, bytes]) => sum + bytes, 0);
  const bytes = new Uint8Array(length + tail.reduce((sum, part) => sum + part.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else if (size === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += size;
  }
  for (const part of tail) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const isLong = (value: number) => value >= MAX_32;
const short = (value: number) => Math.min(value, MAX_32);

/** Returns the extra field with 64-bit values, for values that do not fit in the 32 bits of the header. */
function extraField(values: readonly number[]): Uint8Array {
  if (values.length === 0) return new Uint8Array(0);
  return record([[1, 2], [8 * values.length, 2], ...values.map((value) => [value, 8] as const)]);
}

function localHeader({ name, crc, size, compressed, method }: WrittenEntry): Uint8Array {
  // Either both sizes are 64-bit values, or neither of them is.
  const isLarge = isLong(size) || isLong(compressed);
  const extra = extraField(isLarge ? [size, compressed] : []);
  const sizes = isLarge ? [MAX_32, MAX_32] : [compressed, size];
  const head = record(
    [
      ...([
        [0x04034b50, 4],
        [isLarge ? VERSION_64 : VERSION, 2],
        [FLAGS, 2],
        [method, 2],
        [0, 2],
        [DATE, 2],
        [crc, 4],
      ] as const),
      ...([
        [sizes[0] as number, 4],
        [sizes[1] as number, 4],
        [name.length, 2],
        [extra.length, 2],
      ] as const),
    ],
    name,
    extra,
  );
  return head;
}

function directoryHeader({ name, crc, size, compressed, method, at }: WrittenEntry): Uint8Array {
  const extra = extraField([size, compressed, at].filter(isLong));
  const version = extra.length > 0 ? VERSION_64 : VERSION;
  return record(
    [
      ...([
        [0x02014b50, 4],
        [version, 2],
        [version, 2],
        [FLAGS, 2],
        [method, 2],
        [0, 2],
        [DATE, 2],
        [crc, 4],
        [short(compressed), 4],
        [short(size), 4],
      ] as const),
      ...([
        [name.length, 2],
        [extra.length, 2],
        [0, 2],
        [0, 2],
        [0, 2],
        [0, 4],
        [short(at), 4],
      ] as const),
    ],
    name,
    extra,
  );
}

interface Directory {
  readonly count: number;
  readonly size: number;
  readonly at: number;
  /** The offset of the end of the directory. */
  readonly end: number;
}

function endOf({ count, size, at, end }: Directory): Uint8Array {
  const isLarge = count >= 0xffff || isLong(size) || isLong(at);
  const long = isLarge
    ? record([
        ...([
          [0x06064b50, 4],
          [44, 8],
          [VERSION_64, 2],
          [VERSION_64, 2],
          [0, 4],
          [0, 4],
          [count, 8],
          [count, 8],
          [size, 8],
          [at, 8],
        ] as const),
        ...([
          [0x07064b50, 4],
          [0, 4],
          [end, 8],
          [1, 4],
        ] as const),
      ])
    : new Uint8Array(0);
  const short16 = Math.min(count, 0xffff);
  const last = record([
    [0x06054b50, 4],
    [0, 2],
    [0, 2],
    [short16, 2],
    [short16, 2],
    [short(size), 4],
    [short(at), 4],
    [0, 2],
  ]);
  const bytes = new Uint8Array(long.length + last.length);
  bytes.set(long);
  bytes.set(last, long.length);
  return bytes;
}
