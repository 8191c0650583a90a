/**
 * Lists the files of a log as of one moment, while its owner continues to write. The list has each segment with its number of valid bytes. The newest segment
 * is read first, because everything that it refers to is already in older segments, which no longer change. Only three changes may be newer than the listed
 * state: a seal that announces a later segment, that later segment, and the removal of released segments' files.
 */
import { dataView } from "../../base/bytes.ts";
import { ReplayError } from "../../base/error.ts";
import { SEAL, SEGMENT } from "../../base/kinds.ts";
import { MAGIC, NUMBER_BYTES, SECTION_BYTES } from "../format/section.ts";
import { fileOf, segmentOf } from "./segment-head.ts";

type Awaitable<T> = T | Promise<T>;

/** The files that another process may be writing. Each call reads the current state of the files. */
export interface LogFiles {
  /** Returns the names of all files, in any order. */
  list(): Awaitable<readonly string[]>;
  /** Returns the number of bytes of a file; undefined if the file does not exist (any more). */
  size(name: string): Awaitable<number | undefined>;
  /** Reads bytes of a file. Returns fewer bytes than requested if the file has become shorter. */
  read(name: string, at: number, length: number): Awaitable<Uint8Array>;
}

/** The number of valid bytes in each segment's file, by file name, in any order. */
export type SegmentSizes = ReadonlyMap<string, number>;

/** The maximum number of attempts to read the sizes, or a whole log, as of one moment. */
const TRIES = 100;
/** The maximum number of later segments to follow, if each segment is full when it is read. */
const HOPS = 8;
/** The number of bytes in a SEAL section. */
const END_BYTES = SECTION_BYTES + NUMBER_BYTES;
const HEAD_BYTES = MAGIC.length + SECTION_BYTES;

/** Reads the sizes synchronously. @throws ReplayError LOCKED if the owner creates and removes files all the time */
export function readSizesNow(files: LogFiles): SegmentSizes {
  const steps = findSizes(files);
  let step = steps.next();
  while (step.done !== true) step = steps.next(step.value as never);
  return step.value;
}

/** @throws ReplayError LOCKED if the owner creates and removes files all the time · the reason of `signal` */
export async function readSizes(files: LogFiles, signal?: AbortSignal): Promise<SegmentSizes> {
  const steps = findSizes(files);
  let step = steps.next();
  while (step.done !== true) {
    signal?.throwIfAborted();
    step = steps.next((await step.value) as never);
  }
  return step.value;
}

/**
 * Reads a log that may be changing, and repeats the read if the result is inconsistent. An error that occurs twice in a row indicates real damage, and is
 * thrown.
 * @param read reads the log as of a new moment each time
 * @throws ReplayError the errors of `read` · LOCKED if all attempts fail, each with another error than the attempt before it · the reason of `signal`
 */
export async function readConsistently<T>(name: string, read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (const failures = new Failures(name); ; ) {
    signal?.throwIfAborted();
    try {
      return await read();
    } catch (error) {
      failures.add(error);
    }
  }
}

/** Works like `readConsistently`, but synchronously. */
export function readConsistentlyNow<T>(name: string, read: () => T): T {
  for (const failures = new Failures(name); ; ) {
    try {
      return read();
    } catch (error) {
      failures.add(error);
    }
  }
}

class Failures {
  readonly #name: string;
  #last: ReplayError | undefined;
  #count = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Returns if another attempt may succeed. @throws the error otherwise; ReplayError LOCKED after `TRIES` failures */
  add(error: unknown): void {
    const mayPass = error instanceof ReplayError && ["CORRUPT", "NOT_FOUND", "IO"].includes(error.code);
    if (!mayPass || error.message === this.#last?.message) throw error;
    this.#last = error;
    if (++this.#count === TRIES) throw busyError(this.#name, error);
  }
}

function busyError(name: string, cause?: unknown): ReplayError {
  return Object.assign(new ReplayError("LOCKED", `${name} keeps changing. Try again when its owner writes less`), { cause });
}

/** A generator that yields promises to await, and receives their results. */
type Steps<T> = Generator<unknown, T, never>;

function* findSizes(files: LogFiles): Steps<SegmentSizes> {
  for (let tries = 0; tries < TRIES; tries++) {
    const sizes = yield* trySizes(files);
    if (sizes !== undefined) return sizes;
  }
  throw busyError("the directory");
}

/** Makes one attempt to read the sizes. Returns undefined if the newest segment was removed before it was read. */
function* trySizes(files: LogFiles): Steps<SegmentSizes | undefined> {
  const sizes = new Map<string, number>();
  const segments = yield* segmentsIn(files);
  if (segments.length === 0) return sizes;
  for (let hops = 0; ; hops++) {
    const newest = segments.at(-1) as number;
    const size = yield* sizeOf(files, newest);
    if (size === undefined) return undefined;
    sizes.set(fileOf(newest), size);
    if (!(yield* isSealed(files, newest, size))) {
      if (!(yield* hasHead(files, newest, size))) yield* endBefore(files, segments, sizes);
      break;
    }
    // The seal announces a later segment. If that segment exists, it was created after the files were listed.
    const hasNext = (yield* sizeOf(files, newest + 1)) !== undefined;
    if (hasNext && hops < HOPS) {
      segments.push(newest + 1);
      continue;
    }
    const isFollowed = hasNext || (yield* segmentsIn(files)).some((segment) => segment > newest);
    if (isFollowed) sizes.set(fileOf(newest), size - END_BYTES);
    break;
  }
  for (const segment of segments) {
    if (segment === segments.at(-1) || sizes.has(fileOf(segment))) continue;
    const size = yield* sizeOf(files, segment);
    // Listed segments that were removed in the meantime are skipped.
    if (size !== undefined) sizes.set(fileOf(segment), size);
  }
  return sizes;
}

/**
 * Handles a newest segment that has only begun: the log ends with the previous segment. If the previous segment has been sealed since, the newest segment now
 * has a head, and the seal is left out.
 */
function* endBefore(files: LogFiles, segments: readonly number[], sizes: Map<string, number>): Steps<void> {
  const [previous, newest] = segments.slice(-2) as [number, number | undefined];
  if (newest === undefined) return;
  const size = yield* sizeOf(files, previous);
  if (size === undefined) return;
  sizes.set(fileOf(previous), size);
  if (!(yield* isSealed(files, previous, size))) return;
  const newestSize = yield* sizeOf(files, newest);
  if (newestSize === undefined || (yield* hasHead(files, newest, newestSize))) sizes.set(fileOf(previous), size - END_BYTES);
}

function* segmentsIn(files: LogFiles): Steps<number[]> {
  const names = (yield files.list()) as unknown as readonly string[];
  return names
    .map(segmentOf)
    .filter((segment) => segment > 0)
    .sort((a, b) => a - b);
}

function* sizeOf(files: LogFiles, segment: number): Steps<number | undefined> {
  return (yield files.size(fileOf(segment))) as unknown as number | undefined;
}

function* read(files: LogFiles, segment: number, at: number, length: number): Steps<DataView> {
  return dataView((yield files.read(fileOf(segment), at, length)) as unknown as Uint8Array);
}

/** Returns whether a segment ends with a SEAL. The seal's checksum is verified only when the segment is read. */
function* isSealed(files: LogFiles, segment: number, size: number): Steps<boolean> {
  if (size < HEAD_BYTES + END_BYTES) return false;
  const end = yield* read(files, segment, size - END_BYTES, END_BYTES);
  return end.byteLength === END_BYTES && end.getUint32(0, true) === SEAL && end.getUint32(4, true) === 0 && end.getUint32(8, true) === NUMBER_BYTES;
}

/** Returns whether the file contains the whole head of a segment, or other bytes in place of the head. */
function* hasHead(files: LogFiles, segment: number, size: number): Steps<boolean> {
  if (size < HEAD_BYTES) return false;
  const head = yield* read(files, segment, MAGIC.length, SECTION_BYTES);
  if (head.byteLength < SECTION_BYTES) return false;
  return head.getUint32(0, true) !== SEGMENT || size >= HEAD_BYTES + head.getUint32(8, true);
}
