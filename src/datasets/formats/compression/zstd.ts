/** Decompresses Zstandard files, which consist of consecutive frames. */
import { dataView } from "../../../base/bytes.ts";
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import { yieldToEventLoop } from "../../model/traversal.ts";
import { ReadAhead } from "../sources/read-ahead.ts";
import type { SourceFile } from "../sources/source.ts";
import { isEndlessTable } from "./huffman-weights.ts";

const MAGIC = 0xfd2fb528;
/** The first of the 16 magic numbers that mark skippable frames. */
const SKIPPABLE = 0x184d2a50;
/** The maximum window size in bytes, which is also the default maximum of the zstd command. */
const MAX_WINDOW = 2 ** 27;
const MAX_BLOCK = 2 ** 17;
const CHECKSUM = 4;
const BYTES_PER_PAUSE = 1 << 23;

const RAW = 0;
const RLE = 1;
const COMPRESSED = 2;

/** The head of a frame. */
interface Frame {
  /** The bytes of the head, without the checksum flag. */
  readonly bytes: Uint8Array;
  /** The number of output bytes to which later blocks may refer. */
  readonly window: number;
  /** The size of the output, if the head states it. */
  readonly size: number | undefined;
  readonly hasChecksum: boolean;
}

/**
 * Yields the decompressed bytes in blocks of at most 128 KiB. Verifies the size of each frame, but not its checksum. @throws RldsError CORRUPT if the file is
 * damaged, or if a frame needs a dictionary or too large a window
 */
export async function* unzstdPieces(file: SourceFile, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const { Decompress } = await import("fzstd");
  const input = new ReadAhead(file, { signal });
  let sincePause = 0;
  while (input.remaining > 0) {
    const begin = input.position;
    const error = (what: string, cause?: unknown) => corruptFile({ file: file.name, offset: begin }, what, cause);
    const frame = await frameOf(input, error);
    if (frame === undefined) continue;
    const { window, size, hasChecksum } = frame;
    if (window > MAX_WINDOW)
      throw error(`a Zstandard frame needs ${window} bytes of memory, more than the maximum of ${MAX_WINDOW}. Compress the file again without --long`);
    let output: Uint8Array[] = [];
    const decoder = new Decompress((piece) => {
      if (piece.length > 0) output.push(piece);
    });
    let done = 0;
    let head: Uint8Array | undefined = frame.bytes;
    for (let isLast = false; !isLast; ) {
      const { block, last } = await blockOf(input, error);
      isLast = last;
      try {
        decoder.push(head === undefined ? block : joined(head, block), isLast);
      } catch (cause) {
        throw error("the file is not valid Zstandard data", cause);
      }
      head = undefined;
      const pieces = output;
      output = [];
      for (const piece of pieces) {
        done += piece.length;
        sincePause += piece.length;
      }
      yield* pieces;
      if (size !== undefined && done > size) throw error(`a Zstandard frame has more than the ${size} bytes that its header declares`);
      sincePause += block.length;
      if (sincePause > BYTES_PER_PAUSE) {
        sincePause = 0;
        await yieldToEventLoop(signal);
      }
    }
    if (size !== undefined && done !== size) throw error(`a Zstandard frame has only ${done} of the ${size} bytes that its header declares`);
    if (hasChecksum) await input.read(CHECKSUM);
  }
}

type MakeError = (what: string, cause?: unknown) => RldsError;

/** Returns the head of a frame, or undefined for a skippable frame. @throws RldsError CORRUPT if the head is invalid, or if the frame needs a dictionary */
async function frameOf(input: ReadAhead, error: MakeError): Promise<Frame | undefined> {
  const magic = dataView(await input.read(4)).getUint32(0, true);
  if ((magic & ~15) >>> 0 === SKIPPABLE) {
    const length = dataView(await input.read(4)).getUint32(0, true);
    if (length > input.remaining) throw error("a Zstandard frame continues beyond the end of the file");
    input.skip(length);
    return undefined;
  }
  if (magic !== MAGIC) throw error("the file is not valid Zstandard data");
  const [flags = 0] = await input.read(1);
  const isSingle = (flags & 32) !== 0;
  const [dictionary, sizeKind] = [flags & 3, flags >> 6];
  if ((flags & 8) !== 0) throw error("the header of a Zstandard frame is damaged");
  if (dictionary !== 0) throw error("the file was compressed with a dictionary that it does not contain. Compress it again without a dictionary");
  const sizeBytes = sizeKind === 0 ? Number(isSingle) : 1 << sizeKind;
  const rest = await input.read(Number(!isSingle) + sizeBytes);
  const [descriptor = 0] = rest;
  const size = sizeBytes === 0 ? undefined : sizeOf(rest.subarray(Number(!isSingle)), sizeKind === 1);
  const base = 2 ** (10 + (descriptor >> 3));
  const window = isSingle ? (size as number) : base + (base / 8) * (descriptor & 7);
  // This module skips the checksum itself, so the decoder receives a head without the checksum flag.
  const bytes = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, flags & ~4, ...rest);
  return { bytes, window, size, hasChecksum: (flags & 4) !== 0 };
}

function sizeOf(bytes: Uint8Array, isBiased: boolean): number {
  let size = 0;
  for (let i = bytes.length - 1; i >= 0; i--) size = size * 256 + (bytes[i] as number);
  return size + (isBiased ? 256 : 0);
}

/** Returns a block with its head, and whether it is the last block of the frame. @throws RldsError CORRUPT if the block is damaged */
async function blockOf(input: ReadAhead, error: MakeError): Promise<{ readonly block: Uint8Array; readonly last: boolean }> {
  const head = await input.read(3);
  const number = (head[0] as number) | ((head[1] as number) << 8) | ((head[2] as number) << 16);
  const [last, kind, size] = [(number & 1) === 1, (number >> 1) & 3, number >> 3];
  if (kind > COMPRESSED || size > MAX_BLOCK) throw error("a Zstandard block is damaged");
  const body = await input.read(kind === RLE ? 1 : size);
  if (kind === COMPRESSED && isEndlessTable(body)) throw error("a Zstandard block is damaged: its Huffman table is invalid");
  if (kind === RAW && size === 0 && !last) throw error("a Zstandard block is empty");
  return { block: joined(head, body), last };
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
