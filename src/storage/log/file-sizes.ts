/**
 * The files of a log as they were at one moment, while its owner goes on: which segments there were, and how many bytes of each count.
 *
 * The newest segment is looked at first: what it knows of older ones is in them already, and they no longer change. Only three things may be ahead of what was seen: a
 * seal, which says that there is a later segment; that later segment; and what is given back, whose file is gone.
 */
import { dataView } from "../../base/bytes.ts";
import { ReplayError } from "../../base/error.ts";
import { SEAL, SEGMENT } from "../../base/kinds.ts";
import { MAGIC, NUMBER_BYTES, SECTION_BYTES } from "../format/section.ts";
import { fileOf, segmentOf } from "./segment-head.ts";

type Awaitable<T> = T | Promise<T>;

/** Files that somebody else may be writing to. Each call sees them as they are then. */
export interface LogFiles {
  /** Names of all files, in any order. */
  list(): Awaitable<readonly string[]>;
  /** Bytes of a file; undefined where there is none (any more). */
  size(name: string): Awaitable<number | undefined>;
  /** Bytes of a file that was looked at. Fewer where it has become shorter. */
  read(name: string, at: number, length: number): Awaitable<Uint8Array>;
}

/** By their names, in any order. */
export type SegmentSizes = ReadonlyMap<string, number>;

/** Moments that are tried before the reader gives up. */
const TRIES = 100;
/** Later segments that are followed, where each is full by the time it is looked at. */
const HOPS = 8;
/** Of a SEAL. */
const END_BYTES = SECTION_BYTES + NUMBER_BYTES;
const HEAD_BYTES = MAGIC.length + SECTION_BYTES;

/** Where all calls return at once. @throws ReplayError LOCKED where the owner makes and removes files all the time */
export function readSizesNow(files: LogFiles): SegmentSizes {
  const steps = findSizes(files);
  let step = steps.next();
  while (step.done !== true) step = steps.next(step.value as never);
  return step.value;
}

/** @throws ReplayError LOCKED where the owner makes and removes files all the time; what `signal` says */
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
 * Reads a log that may be written to meanwhile: again, where what was read contradicts itself. Damage does so twice in the same way; a file that is missed is not asked for by
 * what is read later, unless it should be there.
 * @param read takes a moment of its own each time
 * @throws ReplayError what `read` throws; LOCKED where it never fails twice in the same way; what `signal` says
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

/** The same, where reading does not wait. */
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

  /** Returns where it is worth another try. */
  add(error: unknown): void {
    const mayPass = error instanceof ReplayError && ["CORRUPT", "NOT_FOUND", "IO"].includes(error.code);
    if (!mayPass || error.message === this.#last?.message) throw error;
    this.#last = error;
    if (++this.#count === TRIES) throw busyError(this.#name, error);
  }
}

function busyError(name: string, cause?: unknown): ReplayError {
  return Object.assign(new ReplayError("LOCKED", `${name} changes all the time. Try again when its owner writes less`), { cause });
}

/** Yields what is to be awaited, and takes what came of it. */
type Steps<T> = Generator<unknown, T, never>;

function* findSizes(files: LogFiles): Steps<SegmentSizes> {
  for (let tries = 0; tries < TRIES; tries++) {
    const sizes = yield* trySizes(files);
    if (sizes !== undefined) return sizes;
  }
  throw busyError("the folder");
}

/** Undefined where the newest segment was removed before it was looked at. */
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
    // There is a later segment, or there was one: this one ended after the files were listed.
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
    // What was given back is not asked for.
    if (size !== undefined) sizes.set(fileOf(segment), size);
  }
  return sizes;
}

/** The newest segment has only begun: the log ends with the one before. A seal there says that the newest one has begun by now. */
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

/** Whether a segment ends with a SEAL. Its checksum is looked at where it counts. */
function* isSealed(files: LogFiles, segment: number, size: number): Steps<boolean> {
  if (size < HEAD_BYTES + END_BYTES) return false;
  const end = yield* read(files, segment, size - END_BYTES, END_BYTES);
  return end.byteLength === END_BYTES && end.getUint32(0, true) === SEAL && end.getUint32(4, true) === 0 && end.getUint32(8, true) === NUMBER_BYTES;
}

/** Whether all of a segment's head is there, or something that is no head. */
function* hasHead(files: LogFiles, segment: number, size: number): Steps<boolean> {
  if (size < HEAD_BYTES) return false;
  const head = yield* read(files, segment, MAGIC.length, SECTION_BYTES);
  if (head.byteLength < SECTION_BYTES) return false;
  return head.getUint32(0, true) !== SEGMENT || size >= HEAD_BYTES + head.getUint32(8, true);
}
