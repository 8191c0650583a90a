/** The packages for Parquet, which are installed by those who need them: readers, writers and decompression. */
import { type RldsError, unsupportedFile } from "../../model/rlds-error.ts";

/** @throws RldsError UNSUPPORTED where hyparquet is not installed */
export async function hyparquet() {
  try {
    // Awaited where they stand, inside `try`: a bundler then sees that the package may be missing.
    const { parquetMetadata, parquetSchema, snappyUncompress } = await import("hyparquet");
    // These files are not documented: a minor version may move them, so package.json bounds the peer to this one.
    const { byteStreamSplit } = await import("hyparquet/src/encoding.js");
    const { readPlain } = await import("hyparquet/src/plain.js");
    const { deltaBinaryUnpack, deltaLengthByteArray } = await import("hyparquet/src/delta.js");
    return { parquetMetadata, parquetSchema, snappyUncompress, byteStreamSplit, readPlain, deltaBinaryUnpack, deltaLengthByteArray };
  } catch (cause) {
    throw missing("hyparquet", "read Parquet", cause);
  }
}

export type Hyparquet = Awaited<ReturnType<typeof hyparquet>>;

/** @throws RldsError UNSUPPORTED */
export async function compressors() {
  try {
    return await import("hyparquet-compressors");
  } catch (cause) {
    throw missing("hyparquet-compressors", "read Parquet with a compression other than Snappy", cause);
  }
}

/** @throws RldsError UNSUPPORTED */
export async function hyparquetWriter() {
  try {
    return await import("hyparquet-writer");
  } catch (cause) {
    throw missing("hyparquet-writer", "write Parquet", cause);
  }
}

function missing(name: string, purpose: string, cause: unknown): RldsError {
  return unsupportedFile({}, `${name} is required to ${purpose}. Run npm install ${name}`, cause);
}

/** Decompresses a page into exactly the bytes that its head says. @throws RangeError, Error where the page is not what its head says */
export type Decompress = (bytes: Uint8Array, size: number) => Uint8Array;

/** @throws RldsError UNSUPPORTED */
export async function decompressOf(codec: string, { snappyUncompress }: Hyparquet, file: string): Promise<Decompress> {
  if (codec === "UNCOMPRESSED") return (bytes) => bytes;
  if (codec === "SNAPPY") {
    return (bytes, size) => {
      const page = new Uint8Array(size);
      snappyUncompress(bytes, page);
      return page;
    };
  }
  if (codec === "GZIP") {
    const { gunzip } = await compressors();
    return (bytes, size) => gunzip(bytes, new Uint8Array(size));
  }
  if (codec === "ZSTD") {
    const { decompressZstd } = await compressors();
    // Into an array that is there: by itself it would believe what a frame says of its size.
    return (bytes, size) => decompressZstd(bytes, new Uint8Array(size));
  }
  if (codec === "LZ4_RAW") {
    const { decompressLz4Raw } = await compressors();
    return (bytes, size) => decompressLz4Raw(bytes, size);
  }
  if (codec === "BROTLI") {
    const { decompressBrotli } = await compressors();
    return (bytes, size) => decompressBrotli(bytes, size);
  }
  throw unsupportedFile({ file }, `columns are compressed with ${codec}. Rewrite the file with snappy, gzip or zstd`);
}
