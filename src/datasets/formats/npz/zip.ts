/** Reads zip archives in the form that NumPy writes, with stored or deflated entries and optionally with 64-bit sizes. */
import { dataView } from "../../../base/bytes.ts";
import { corruptFile, type RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { yieldToEventLoop } from "../../model/traversal.ts";
import type { SourceFile } from "../sources/source.ts";

export interface ZipEntry {
  /** The name of the entry. It is never used to open a file. */
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly compressed: number;
  readonly size: number;
  /** The offset of the local header. */
  readonly at: number;
}

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;
const MAX_COMMENT = 65535;

/** Returns the entries in the directory of the archive. @throws RldsError CORRUPT if the directory is damaged */
export async function zipEntries(file: SourceFile, maxBytes: number): Promise<ZipEntry[]> {
  const { entries, size, at } = await directory(file);
  if (size > maxBytes || at + size > file.size)
    throw corruptFile({ file: file.name, offset: at }, `the directory of the archive has ${size} bytes, but the file has ${file.size}`);
  const view = dataView(await file.read(at, size));
  const zipped: ZipEntry[] = [];
  for (let p = 0; zipped.length < entries; ) {
    if (p + 46 > size || view.getUint32(p, true) !== ENTRY)
      throw corruptFile({ file: file.name, offset: at + p }, `the directory of the archive ends after ${zipped.length} of ${entries} entries`);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((k) => view.getUint16(p + k, true)) as [number, number, number];
    const end = p + 46 + nameLength + extraLength;
    if (end > size) throw corruptFile({ file: file.name, offset: at + p }, "an entry extends beyond the directory of the archive");
    const name = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + p + 46, nameLength));
    const extra = new DataView(view.buffer, view.byteOffset + p + 46 + nameLength, extraLength);
    const places = [24, 20, 42].map((k) => view.getUint32(p + k, true));
    const [size64, compressed64, at64] = long(extra, places);
    zipped.push({
      name,
      method: view.getUint16(p + 8, true) & 1 ? -1 : view.getUint16(p + 10, true),
      crc: view.getUint32(p + 16, true),
      compressed: compressed64 as number,
      size: size64 as number,
      at: at64 as number,
    });
    p = end + commentLength;
  }
  return zipped;
}

/** The number of compressed bytes that are read together. They are inflated in slices of `SLICE` bytes, each of which expands to at most about 16 MiB. */
const BLOCK = 1 << 20;
const SLICE = 1 << 14;
/** The number of bytes between two pauses during which other tasks can run. */
const BYTES_PER_PAUSE = 1 << 23;

/** Yields the bytes of an entry in pieces, up to the declared size. The checksum is verified at the end. @throws RldsError CORRUPT if it is damaged */
export async function* zipPieces(file: SourceFile, entry: ZipEntry, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const { name, method, crc, compressed, size } = entry;
  const begin = await findEntryStart(file, entry);
  const inflate = method === DEFLATED ? await inflater(() => corruptFile({ file: file.name, offset: begin }, `${name} is not valid deflate data`)) : undefined;
  const sizeError = (actualSize: number) =>
    corruptFile({ file: file.name, offset: begin }, `${name} is not valid deflate data: got ${actualSize} of ${size} bytes`);
  let [done, sum, sincePause] = [0, 0, 0];
  for (let at = 0; at < compressed; at += BLOCK) {
    const block = await file.read(begin + at, Math.min(BLOCK, compressed - at));
    for (let from = 0; from < block.length; from += SLICE) {
      const slice = block.subarray(from, from + SLICE);
      const chunk = inflate === undefined ? slice : inflate(slice, at + from + slice.length === compressed);
      done += chunk.length;
      sincePause += chunk.length + SLICE;
      if (done > size) throw sizeError(done);
      sum = crc32(chunk, sum);
      yield chunk;
      if (sincePause > BYTES_PER_PAUSE) {
        sincePause = 0;
        await yieldToEventLoop(signal);
      }
    }
  }
  if (done !== size) throw sizeError(done);
  if (sum !== crc) throw corruptFile({ file: file.name, offset: begin }, `the checksum of ${name} does not match its bytes`);
}

/** Returns whether an entry is stored without compression. */
export function isStored({ method }: ZipEntry): boolean {
  return method === STORED;
}

/**
 * Checks the declared values of an entry and returns the offset of its bytes.
 * @throws RldsError CORRUPT if a value is wrong · UNSUPPORTED if the entry is encrypted or its compression method is not supported
 */
export async function findEntryStart(file: SourceFile, { name, method, compressed, size, at }: ZipEntry): Promise<number> {
  if (method !== STORED && method !== DEFLATED)
    throw unsupportedFile(
      { file: file.name, offset: at },
      `${name} is ${method === -1 ? "encrypted" : `compressed with method ${method}`}, but Reprise reads only stored and deflated entries. Write the archive again with numpy.savez`,
    );
  // Deflate cannot compress data to much less than a thousandth of its size.
  if (method === STORED ? compressed !== size : size > compressed * 1040 + 64)
    throw corruptFile({ file: file.name, offset: at }, `the declared size of ${name}, ${size} bytes, does not match its ${compressed} compressed bytes`);
  if (at + 30 > file.size) throw corruptFile({ file: file.name, offset: at }, `${name} is beyond the end of the file`);
  const local = dataView(await file.read(at, 30));
  if (local.getUint32(0, true) !== LOCAL)
    throw corruptFile({ file: file.name, offset: at }, `${name} does not begin at the offset that the directory of the archive declares`);
  const begin = at + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  if (begin + compressed > file.size) throw corruptFile({ file: file.name, offset: at }, `${name} continues beyond the end of the file`);
  return begin;
}

/** Returns a function that inflates one slice after the other. */
async function inflater(sizeError: () => RldsError): Promise<(slice: Uint8Array, last: boolean) => Uint8Array> {
  const { Inflate } = await import("fflate");
  let output = new Uint8Array(0);
  const stream = new Inflate((chunk) => {
    output = chunk as Uint8Array<ArrayBuffer>;
  });
  return (slice, last) => {
    try {
      stream.push(slice, last);
    } catch {
      throw sizeError();
    }
    return output;
  };
}

async function directory(file: SourceFile): Promise<{ entries: number; size: number; at: number }> {
  const length = Math.min(file.size, MAX_COMMENT + 22 + 20);
  const from = file.size - length;
  const tail = dataView(await file.read(from, length));
  let p = length - 22;
  while (p >= 0 && tail.getUint32(p, true) !== END) p--;
  if (p < 0) throw corruptFile({ file: file.name, offset: from }, "the file is not a zip archive, or it is truncated");
  const endRecord = { entries: tail.getUint16(p + 10, true), size: tail.getUint32(p + 12, true), at: tail.getUint32(p + 16, true) };
  if (p < 20 || tail.getUint32(p - 20, true) !== LOCATOR_64) return endRecord;
  const at64 = number(tail, p - 12);
  if (at64 + 56 > file.size) throw corruptFile({ file: file.name, offset: from + p - 20 }, "the zip64 end record is beyond the end of the file");
  const end = dataView(await file.read(at64, 56));
  if (end.getUint32(0, true) !== END_64) throw corruptFile({ file: file.name, offset: at64 }, "the zip64 end record is missing");
  return { entries: number(end, 32), size: number(end, 40), at: number(end, 48) };
}

/** Returns 32-bit values as numbers. Each value whose bits are all 1 is replaced with the next 64-bit value of the extra field. */
function long(extra: DataView, values: number[]): number[] {
  for (let p = 0; p + 4 <= extra.byteLength; p += 4 + extra.getUint16(p + 2, true)) {
    if (extra.getUint16(p, true) !== 1) continue;
    let at = p + 4;
    return values.map((value) => {
      if (value !== 0xffffffff || at + 8 > extra.byteLength) return value;
      at += 8;
      return number(extra, at - 8);
    });
  }
  return values;
}

const number = (view: DataView, at: number) => Number(view.getBigUint64(at, true));

const TABLE = Int32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/** Computes the checksum of zip archives. @param previousCrc the checksum of the preceding bytes */
export function crc32(bytes: Uint8Array, previousCrc = 0): number {
  let crc = ~previousCrc;
  for (let i = 0; i < bytes.length; i++) crc = (TABLE[(crc ^ (bytes[i] as number)) & 255] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
