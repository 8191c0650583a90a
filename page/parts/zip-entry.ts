/** Creates the entries of all zips that the page writes. */
import { ZipDeflate, ZipPassThrough } from "fflate";

/** The maximum number of bytes of all files. The sizes and offsets of fflate have 32 bits, and the file descriptions need some room. */
export const MAX_ZIP = 2 ** 32 - 2 ** 24;
/** Matches compressible files. Images, films and Parquet are compressed already. */
const DEFLATED = /\.(jsonl|json|txt|tfrecord-\d+-of-\d+)$/;

/** Returns an empty entry for a zip. The same files produce the same zip. @param deflates whether texts and records are compressed, which takes time */
export function zipEntry(name: string, deflates: boolean): ZipDeflate | ZipPassThrough {
  const entry = deflates && DEFLATED.test(name) ? new ZipDeflate(name, { level: 6 }) : new ZipPassThrough(name);
  entry.mtime = new Date(1980, 0, 1);
  return entry;
}
