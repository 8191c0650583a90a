/** What all zips of the page have in common. */
import { ZipDeflate, ZipPassThrough } from "fflate";

/** The most bytes of files: fflate's sizes and offsets have 32 bits, and what describes the files needs some room. */
export const MAX_ZIP = 2 ** 32 - 2 ** 24;
/** The rest, images, films and Parquet, is compressed already. */
const DEFLATED = /\.(jsonl|json|txt|tfrecord-\d+-of-\d+)$/;

/** A file of a zip, to be filled. The same files give the same zip. @param deflates whether texts and records are made smaller, which takes time */
export function zipEntry(name: string, deflates: boolean): ZipDeflate | ZipPassThrough {
  const entry = deflates && DEFLATED.test(name) ? new ZipDeflate(name, { level: 6 }) : new ZipPassThrough(name);
  entry.mtime = new Date(1980, 0, 1);
  return entry;
}
