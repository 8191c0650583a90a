/** The packages for Parquet, which are installed by those who need them. */
import { type RldsError, unsupportedFile } from "../../model/rlds-error.ts";

/** @throws RldsError UNSUPPORTED where hyparquet is not installed */
export async function hyparquet() {
  try {
    // Awaited where they stand, inside `try`: a bundler then sees that the package may be missing.
    const { parquetMetadata, parquetSchema, snappyUncompress } = await import("hyparquet");
    // These files are not documented: a minor version may move them, so package.json bounds the peer to this one.
    const { byteStreamSplit, readRleBitPackedHybrid } = await import("hyparquet/src/encoding.js");
    const { readPlain } = await import("hyparquet/src/plain.js");
    const { deltaBinaryUnpack, deltaLengthByteArray } = await import("hyparquet/src/delta.js");
    return { parquetMetadata, parquetSchema, snappyUncompress, byteStreamSplit, readRleBitPackedHybrid, readPlain, deltaBinaryUnpack, deltaLengthByteArray };
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
    throw missing("hyparquet-compressors", "read Parquet that is compressed otherwise than by snappy", cause);
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
  return unsupportedFile({}, `${name} is needed to ${purpose}: npm install ${name}`, cause);
}
