/** Interleaves the records of several files in the same order as TensorFlow. */
import { TfRecords } from "../tfds/tfrecord.ts";
import type { OpenFile } from "./files.ts";
import { reopenedFile, Turns } from "./reopened-file.ts";

export interface RecordPlace {
  readonly bytes: Uint8Array;
  readonly file: string;
  readonly offset: number;
}

export interface RecordOptions {
  /** The number of files that are interleaved. */
  readonly cycleLength: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** The maximum number of files that remain open. Any further file is opened only while a block is read. Default: 128. */
  readonly openFiles?: number | undefined;
}

interface Entry {
  readonly file: string;
  readonly records: TfRecords;
}

const OPEN_FILES = 128;
const REOPENED_TOGETHER = 16;
/** The approximate total size of the blocks of all files, in bytes. */
const BLOCKS_BYTES = 2 ** 27;
const MAX_BLOCK = 2 ** 20;
const MIN_BLOCK = 2 ** 12;

/**
 * Yields one record from each of `cycleLength` files in turn. When a file ends, the next file takes its place and is read in the next turn.
 * @throws RldsError NOT_FOUND if a file does not exist · CORRUPT if a file is damaged · IO if a file cannot be read
 */
export async function* recordsOf(
  paths: readonly string[],
  open: OpenFile,
  { cycleLength, maxBytes, signal, openFiles = OPEN_FILES }: RecordOptions,
): AsyncGenerator<RecordPlace, void, undefined> {
  const width = Math.min(cycleLength, paths.length);
  // Each file has two blocks in memory.
  const block = Math.min(MAX_BLOCK, Math.max(MIN_BLOCK, Math.floor(BLOCKS_BYTES / (2 * width))));
  const turns = new Turns(REOPENED_TOGETHER);
  const cycle: (Entry | undefined)[] = [];
  let next = 0;
  const openNext = async (place: number): Promise<Entry | undefined> => {
    const path = paths[next++];
    if (path === undefined) return undefined;
    const file = await (place < openFiles ? open(path) : reopenedFile(path, open, turns));
    return { file: file.name, records: new TfRecords(file, { maxBytes, block, ...(signal && { signal }) }) };
  };
  let isDone = false;
  try {
    while (cycle.length < width) cycle.push(await openNext(cycle.length));
    while (cycle.some((entry) => entry !== undefined))
      for (const [i, entry] of cycle.entries()) {
        if (entry === undefined) continue;
        signal?.throwIfAborted();
        if (!entry.records.atEnd) {
          const bytes = await entry.records.next();
          // If the consumer stops at this `yield`, no more data is needed.
          isDone = true;
          yield { bytes, file: entry.file, offset: entry.records.offset };
          isDone = false;
        } else {
          cycle[i] = undefined;
          await entry.records.close();
          cycle[i] = await openNext(i);
        }
      }
    isDone = true;
  } finally {
    await closeAll(cycle, isDone);
  }
}

/** Closes every file, even if closing one fails. @throws the error of closing, unless an earlier error is already being thrown */
async function closeAll(cycle: readonly (Entry | undefined)[], isDone: boolean): Promise<void> {
  const closes = await Promise.allSettled(cycle.map((entry) => entry?.records.close()));
  const failed = closes.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
  if (failed !== undefined && isDone) throw failed.reason;
}
