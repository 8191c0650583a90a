/** Loads the optional packages for Parquet, which read, write and decompress files. */
import { type RldsError, unsupportedFile } from "../../model/rlds-error.ts";

/** Loads hyparquet. @throws RldsError UNSUPPORTED if hyparquet is not installed */
export async function hyparquet() {
  try {
    // The imports are awaited inside `try`, because a bundler then accepts a missing package.
    const { parquetMetadata, parquetSchema, snappyUncompress } = await import("hyparquet");
    // These modules are not documented and may move in a minor version, so package.json restricts the peer dependency to one minor version.
    const { byteStreamSplit } = await import("hyparquet/src/encoding.js");
    const { readPlain } = await import("hyparquet/src/plain.js");
    const { deltaBinaryUnpack, deltaLengthByteArray } = await import("hyparquet/src/delta.js");
    return { parquetMetadata, parquetSchema, snappyUncompress, byteStreamSplit, readPlain, deltaBinaryUnpack, deltaLengthByteArray };
  } catch (cause) {
    throw missing("hyparquet", "read Parquet", cause);
  }
}

export type Hyparquet = Awaited<ReturnType<typeof hyparquet>>;

/** Loads hyparquet-compressors. @throws RldsError UNSUPPORTED if hyparquet-compressors is not installed */
export async function compressors() {
  try {
    return await import("hyparquet-compressors");
  } catch (cause) {
    throw missing("hyparquet-compressors", "read Parquet with a compression other than Snappy", cause);
  }
}

/** Loads hyparquet-writer. @throws RldsError UNSUPPORTED if hyparquet-writer is not installed */
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

/** A function that decompresses a page to exactly the number of bytes that its head states. @throws RangeError, Error if the page does not match its head */
export type Decompress = (bytes: Uint8Array, size: number) => Uint8Array;

/** Returns the function that decompresses a codec. @throws RldsError UNSUPPORTED if Reprise cannot read the codec, or if its package is not installed */
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
    // The output array is passed to the decoder, which would otherwise trust the size in the frame.
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
  throw unsupportedFile({ file }, `columns are compressed with ${codec}, which Reprise cannot read. Write the file again with snappy, gzip or zstd`);
}
