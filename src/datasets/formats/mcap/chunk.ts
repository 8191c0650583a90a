/** Decompresses chunks of MCAP with size limits. */
import { concat, dataView } from "../../../base/bytes.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import { unzstdPieces } from "../compression/zstd.ts";
import { bytesFile } from "../sources/bytes-source.ts";
import { unlz4 } from "./lz4.ts";

const CHUNK = 0x06;
/** The number of bytes before the name of the compression: the start and end times, the uncompressed size, the checksum, and the length of the name. */
const HEAD_BYTES = 32;
const RECORD_HEAD = 9;

export interface ChunkBounds {
  readonly file: string;
  readonly offset: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/**
 * Returns a chunk's record with decompressed content. @param body the body of the record
 * @throws Error if the chunk is damaged · RldsError UNSUPPORTED if its compression is not supported
 */
export async function plainChunk(body: Uint8Array, bounds: ChunkBounds): Promise<Uint8Array> {
  const view = dataView(body);
  if (body.length < HEAD_BYTES) throw new Error("the chunk header is truncated");
  const size = Number(view.getBigUint64(16, true));
  const nameBytes = view.getUint32(28, true);
  if (HEAD_BYTES + nameBytes + 8 > body.length) throw new Error("the chunk header is truncated");
  const compression = new TextDecoder().decode(body.subarray(HEAD_BYTES, HEAD_BYTES + nameBytes));
  const from = HEAD_BYTES + nameBytes + 8;
  const length = Number(view.getBigUint64(from - 8, true));
  if (from + length > body.length) throw new Error(`the chunk declares ${length} bytes of records, but only ${body.length - from} are left`);
  if (size > bounds.maxBytes) throw new Error(`the chunk has ${size} bytes, more than the ${bounds.maxBytes} that maxBytes allows. Increase maxBytes`);
  const records = await decompressed(body.subarray(from, from + length), compression, size, bounds);
  if (records.length !== size) throw new Error(`the chunk has ${records.length} bytes instead of the declared ${size}`);
  const record = new Uint8Array(RECORD_HEAD + HEAD_BYTES + 8 + records.length);
  const head = dataView(record);
  record[0] = CHUNK;
  head.setBigUint64(1, BigInt(record.length - RECORD_HEAD), true);
  record.set(body.subarray(0, HEAD_BYTES - 4), RECORD_HEAD);
  head.setBigUint64(RECORD_HEAD + HEAD_BYTES, BigInt(records.length), true);
  record.set(records, RECORD_HEAD + HEAD_BYTES + 8);
  return record;
}

async function decompressed(bytes: Uint8Array, compression: string, size: number, { file, offset, signal }: ChunkBounds): Promise<Uint8Array> {
  if (compression === "" || bytes.length === 0) return bytes;
  if (compression === "lz4") return unlz4(bytes, size);
  if (compression !== "zstd")
    throw unsupportedFile(
      { file, offset },
      `a chunk is compressed with ${JSON.stringify(compression)}, but Reprise reads only lz4 and zstd. Write the file again with "mcap compress"`,
    );
  const pieces: Uint8Array[] = [];
  let done = 0;
  for await (const piece of unzstdPieces(bytesFile("a chunk", bytes), signal)) {
    done += piece.length;
    if (done > size) throw new Error(`the Zstandard data decompresses to more than the declared ${size} bytes`);
    pieces.push(piece.slice());
  }
  return concat(pieces);
}
