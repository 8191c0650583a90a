/** Pages of a column, decompressed into exactly the bytes that their heads say. */
import { unsupportedFile } from "../../model/rlds-error.ts";
import { compressors, type Hyparquet } from "./packages.ts";

/** @throws RangeError, Error where the page is not what its head says */
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
  throw unsupportedFile({ file }, `columns are compressed with ${codec}: rewrite the file with snappy, gzip or zstd`);
}
