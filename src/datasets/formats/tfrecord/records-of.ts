/** The records of several files by turns, as TensorFlow interleaves them. */
import { TfRecords } from "../tfds/tfrecord.ts";
import type { OpenFile } from "./files.ts";

export interface RecordPlace {
  readonly bytes: Uint8Array;
  readonly file: string;
  readonly offset: number;
}

export interface RecordOptions {
  /** Files that are read by turns. */
  readonly cycleLength: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** One record of each of `cycleLength` files by turns. A file that ends gives its place to the next one, which is read a turn later. @throws RldsError NOT_FOUND, CORRUPT, IO */
export async function* recordsOf(
  paths: readonly string[],
  open: OpenFile,
  { cycleLength, maxBytes, signal }: RecordOptions,
): AsyncGenerator<RecordPlace, void, undefined> {
  const cycle: ({ readonly file: string; readonly records: TfRecords } | undefined)[] = [];
  let next = 0;
  const openNext = async () => {
    const path = paths[next++];
    if (path === undefined) return undefined;
    const file = await open(path);
    return { file: file.name, records: new TfRecords(file, { maxBytes, ...(signal && { signal }) }) };
  };
  try {
    while (cycle.length < Math.min(cycleLength, paths.length)) cycle.push(await openNext());
    while (cycle.some((entry) => entry !== undefined))
      for (const [i, entry] of cycle.entries()) {
        if (entry === undefined) continue;
        signal?.throwIfAborted();
        if (!entry.records.atEnd) yield { bytes: await entry.records.next(), file: entry.file, offset: entry.records.offset };
        else {
          await entry.records.close();
          cycle[i] = undefined;
          cycle[i] = await openNext();
        }
      }
  } finally {
    for (const entry of cycle) await entry?.records.close();
  }
}
