/** Decompresses gzip files with one or more members. */
import { dataView } from "../../../base/bytes.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { yieldToEventLoop } from "../../model/traversal.ts";
import { crc32 } from "../npz/zip.ts";
import type { SourceFile } from "../sources/source.ts";

/** The number of bytes that are read from the file at a time. */
const BLOCK = 1 << 20;
/** The number of bytes that are decompressed at a time, to at most about 16 MiB. */
const SLICE = 1 << 14;
/** The number of compressed and decompressed bytes between two pauses, during which other tasks can run. */
const BYTES_PER_PAUSE = 1 << 23;
/** The number of bytes in a member's trailer, which contains the checksum and the size. */
const TRAILER = 8;

interface Member {
  crc: number;
  size: number;
}

/** Yields the decompressed bytes in pieces, and verifies the checksum and size of each member. @throws RldsError CORRUPT if the file is damaged or truncated */
export async function* gunzipPieces(file: SourceFile, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const { Gunzip } = await import("fflate");
  let output: Uint8Array[] = [];
  let member: Member = { crc: 0, size: 0 };
  /** The complete members that were not verified yet, with the offsets of their ends. */
  let ended: { readonly member: Member; readonly end: number }[] = [];
  const gunzip = new Gunzip((chunk) => {
    member.crc = crc32(chunk, member.crc);
    member.size += chunk.length;
    if (chunk.length > 0) output.push(chunk);
  });
  gunzip.onmember = (begin) => {
    ended.push({ member, end: begin });
    member = { crc: 0, size: 0 };
  };
  const push = (slice: Uint8Array, at: number, isLast = false) => {
    try {
      gunzip.push(slice, isLast);
    } catch (cause) {
      throw corruptFile({ file: file.name, offset: at }, "the file is not valid gzip data, or it is truncated", cause);
    }
  };
  let sincePause = 0;
  for (let at = 0; at < file.size; at += BLOCK) {
    const block = await file.read(at, Math.min(BLOCK, file.size - at));
    for (let from = 0; from < block.length; from += SLICE) {
      const slice = block.slice(from, from + SLICE);
      push(slice, at + from);
      const pieces = output;
      output = [];
      for (const piece of pieces) sincePause += piece.length;
      yield* pieces;
      for (const { member, end } of ended) await checkMember(file, member, end);
      ended = [];
      sincePause += SLICE;
      if (sincePause > BYTES_PER_PAUSE) {
        sincePause = 0;
        await yieldToEventLoop(signal);
      }
    }
  }
  // The decompressor is told only here that the stream ends, so all data before a truncation has already been yielded.
  push(new Uint8Array(0), file.size, true);
  yield* output;
  await checkMember(file, member, file.size);
}

async function checkMember(file: SourceFile, { crc, size }: Member, end: number): Promise<void> {
  const trailer = dataView(await file.read(Math.max(0, end - TRAILER), Math.min(TRAILER, end)));
  if (trailer.byteLength < TRAILER || trailer.getUint32(0, true) !== crc || trailer.getUint32(4, true) !== size % 2 ** 32)
    throw corruptFile({ file: file.name, offset: end }, "the checksum or size of the gzip data is wrong: the file is damaged or truncated");
}
