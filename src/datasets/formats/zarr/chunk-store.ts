/** Provides the files of one Zarr array to zarrita. The declared sizes of chunks are checked first. */
import { dataView } from "../../../base/bytes.ts";
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import { gunzipPieces } from "../compression/gzip.ts";
import { unzstdPieces } from "../compression/zstd.ts";
import { bytesFile } from "../sources/bytes-source.ts";
import { openIfExists, type SourceFolder } from "../sources/source.ts";
import type { ArrayMetadata, ChunkBytes } from "./array-metadata.ts";

/** A part of a file, which is a range from an offset or the end of the file. */
type Range = { readonly offset: number; readonly length: number } | { readonly suffixLength: number };

interface StoreOptions {
  readonly folder: SourceFolder;
  /** The path of the array in the folder, with a trailing slash. */
  readonly prefix: string;
  readonly metadata: ArrayMetadata;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export class ChunkStore {
  readonly #options: StoreOptions;
  readonly #metadata: Uint8Array;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#metadata = new TextEncoder().encode(JSON.stringify(options.metadata.json));
  }

  /** Returns the metadata of the array, or the bytes of a chunk. Returns undefined if there is no such file. @throws RldsError CORRUPT if a chunk is damaged */
  async get(key: string): Promise<Uint8Array | undefined> {
    if (key === "/zarr.json" || key === "/.zarray") return this.#metadata;
    if (key === "/.zattrs") return undefined;
    const { folder, prefix, maxBytes, metadata, signal } = this.#options;
    const path = prefix + key.slice(1);
    const file = await openIfExists(folder, path);
    if (file === undefined) return undefined;
    try {
      if (file.size > maxBytes)
        throw corruptFile({ file: path }, `a chunk has ${file.size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
      // `slice` returns a new array that starts at the beginning of its own buffer.
      const bytes = (await file.read(0, file.size)).slice();
      await checkChunk(bytes, metadata.chunkBytes, { path, maxBytes, ...(signal && { signal }) });
      return bytes;
    } finally {
      await file.close();
    }
  }

  /** Reads a part of a shard, which is its index or a chunk. @throws RldsError CORRUPT if the part is damaged */
  async getRange(key: string, range: Range): Promise<Uint8Array | undefined> {
    const { folder, prefix, maxBytes, metadata, signal } = this.#options;
    const path = prefix + key.slice(1);
    const file = await openIfExists(folder, path);
    if (file === undefined) return undefined;
    try {
      const isIndex = "suffixLength" in range;
      const length = isIndex ? range.suffixLength : range.length;
      const at = isIndex ? file.size - length : range.offset;
      if (!(at >= 0 && at + length <= file.size && length <= maxBytes))
        throw corruptFile({ file: path }, `a shard has ${file.size} bytes, but its index refers to ${length} bytes at byte ${at}`);
      const bytes = (await file.read(at, length)).slice();
      if (!isIndex) await checkChunk(bytes, metadata.chunkBytes, { path, maxBytes, ...(signal && { signal }) });
      return bytes;
    } finally {
      await file.close();
    }
  }
}

interface CheckOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The size of the header of a Blosc chunk, in bytes. */
const BLOSC_HEAD = 16;

/** Checks the decompressed size of a chunk. @throws RldsError CORRUPT if the chunk is damaged or has a wrong size */
async function checkChunk(bytes: Uint8Array, { compressor, decompressed, behind }: ChunkBytes, { path, maxBytes, signal }: CheckOptions): Promise<void> {
  const length = bytes.length - behind;
  const sizeError = (size: number) => corruptFile({ file: path }, `a chunk must have ${decompressed ?? `at most ${maxBytes}`} bytes, got ${size}`);
  const check = (size: number) => {
    if (decompressed === undefined ? size > maxBytes : size !== decompressed) throw sizeError(size);
  };
  const view = dataView(bytes);
  if (length < 0) throw sizeError(0);
  if (compressor === undefined) check(length);
  else if (compressor === "blosc") {
    if (length < BLOSC_HEAD || view.getUint32(12, true) !== length) throw damaged(path, "Blosc");
    check(view.getUint32(4, true));
  } else if (compressor === "lz4") {
    if (length < 4) throw damaged(path, "LZ4");
    check(view.getUint32(0, true));
  } else {
    const file = bytesFile(path, bytes.subarray(0, length));
    const pieces = compressor === "zstd" ? unzstdPieces(file, signal) : compressor === "gzip" ? gunzipPieces(file, signal) : inflated(file.name, bytes);
    let size = 0;
    for await (const piece of pieces) {
      size += piece.length;
      if (size > (decompressed ?? maxBytes)) throw sizeError(size);
    }
    check(size);
  }
}

const SLICE = 1 << 14;

/** Decompresses zlib data. @throws RldsError CORRUPT if the data is damaged */
async function* inflated(path: string, bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  const { Unzlib } = await import("fflate");
  let output: Uint8Array[] = [];
  const stream = new Unzlib((chunk) => output.push(chunk));
  for (let at = 0; at < bytes.length; at += SLICE) {
    try {
      stream.push(bytes.slice(at, at + SLICE), at + SLICE >= bytes.length);
    } catch {
      throw damaged(path, "zlib");
    }
    const pieces = output;
    output = [];
    yield* pieces;
  }
}

function damaged(path: string, codec: string): RldsError {
  return corruptFile({ file: path }, `a chunk is not valid ${codec} data`);
}
