/** The end of the newest segment: bytes that wait in memory, and the file that they go to. A write that fails leaves both as they were. */
import { ReplayError } from "../../base/error.ts";
import { SEAL } from "../../base/kinds.ts";
import { MAX_SECTION_BYTES } from "../../base/limits.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import { ioError, withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { addToSum, MAGIC, numberBytes, SECTION_BYTES } from "../format/section.ts";
import { fileOf } from "./segment-head.ts";

/** From here on bytes are written without being asked for. */
export const FULL_BYTES = 1 << 17;
/** Whole ones are written while there is time: the system copies what is aligned faster (measured, a quarter). */
const PAGE = 4096;
/** Files that are kept open to be synced. */
const MAX_UNSYNCED = 32;
/** Up to here a loop copies faster than a call. */
const SHORT = 48;
/** Where in a section its checksum is. */
const CRC = 12;

/** A place in a segment: so many bytes, and the sum of the sections in them. */
export interface Mark {
  readonly bytes: number;
  readonly sum: number;
}

export class SegmentWriter {
  readonly segment: number;
  readonly #directory: Directory;
  readonly #memory: SectionMemory;
  #file: StorageFile | undefined;
  /** Bytes of the file that are as they should be. */
  #writtenBytes: number;
  /** Bytes that wait. */
  #pendingBytes = 0;
  /** Of all sections, those that wait as well. */
  #sum: number;
  /** Whether there may be more in the file than `#writtenBytes`. */
  #isTorn = false;
  #isSynced = true;
  /** The segment before, as long as it is not known to be on the disk; and how many there are in a row. */
  #previous: SegmentWriter | undefined;
  #unsyncedSegments = 0;
  /** What is behind the last group, once the next segment is on the disk: if that is missing then, it is known. */
  #seal: Uint8Array | undefined;
  /** Why nobody knows what is on the disk. */
  #syncError: ReplayError | undefined;

  /** @param mark what counts of the file; the rest is cut off. Nothing: a new one, which is made when it is first written to */
  constructor(directory: Directory, segment: number, mark: Mark, memory: SectionMemory) {
    this.segment = segment;
    this.#directory = directory;
    this.#memory = memory;
    this.#writtenBytes = mark.bytes;
    this.#sum = mark.sum;
    if (mark.bytes === 0) {
      memory.u8.set(new TextEncoder().encode(MAGIC), this.#start);
      this.#pendingBytes = MAGIC.length;
    } else {
      // Whoever wrote it may have been killed before it was synced.
      this.#isSynced = false;
      this.#open(false, mark.bytes);
      if (this.#isTorn) this.sync();
    }
  }

  get bytes(): number {
    return this.#writtenBytes + this.#pendingBytes;
  }

  get mark(): Mark {
    return { bytes: this.bytes, sum: this.#sum };
  }

  /** Whether a sync failed. */
  get broken(): boolean {
    return this.#syncError !== undefined;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /**
   * Begins the next segment, in the same memory, when all is written. This one is synced, sealed and closed by its first sync.
   * @param group number of the group that follows
   */
  next(segment: number, group: number): SegmentWriter {
    if (this.#unsyncedSegments >= MAX_UNSYNCED) this.sync();
    const next = new SegmentWriter(this.#directory, segment, { bytes: 0, sum: 0 }, this.#memory);
    next.follow(this, group);
    return next;
  }

  /** Goes on where another one ended, which is not sealed yet. */
  follow(previous: SegmentWriter, group: number): void {
    previous.#seal = this.#sealOf(group);
    this.#previous = previous;
    this.#unsyncedSegments = previous.#unsyncedSegments + 1;
  }

  add(kind: number, id: number, payload: Uint8Array): void {
    const { length } = payload;
    const memory = this.#memory;
    const size = this.#pendingBytes + SECTION_BYTES + length;
    const at = this.#start + this.#pendingBytes;
    if (this.#start + size > memory.u8.length) {
      if (size > MAX_SECTION_BYTES)
        throw new ReplayError("OUT_OF_MEMORY", `${size} bytes wait to be written to ${this.#directory.name}; the limit is ${MAX_SECTION_BYTES}`);
      memory.reserve(PAGE + size);
    }
    const { u8 } = memory;
    const to = at + SECTION_BYTES;
    if (length > SHORT) u8.set(payload, to);
    else for (let i = 0; i < length; i++) u8[to + i] = payload[i] as number;
    memory.seal(at, kind, id, length);
    this.#sum = addToSum(this.#sum, memory.view.getUint32(at + CRC, true));
    this.#pendingBytes = size;
  }

  /** Where in memory the bytes are that wait: as far from the begin of a page as their place in the file. */
  get #start(): number {
    return this.#memory.base + (this.#writtenBytes % PAGE);
  }

  /** Forgets everything behind a place. */
  cut({ bytes, sum }: Mark): void {
    this.#sum = sum;
    if (bytes >= this.#writtenBytes) {
      this.#pendingBytes = bytes - this.#writtenBytes;
      return;
    }
    this.#pendingBytes = 0;
    this.#writtenBytes = bytes;
    this.#isTorn = true;
    this.#isSynced = false;
  }

  /** Writes what waits, but for the last page that is not full. @throws ReplayError IO where that failed: it may be tried again */
  spill(): void {
    this.#write(Math.max(this.#pendingBytes - ((this.#writtenBytes + this.#pendingBytes) % PAGE), 0));
  }

  /** Writes what waits. @throws ReplayError IO likewise */
  drain(): void {
    this.#write(this.#pendingBytes);
  }

  #write(count: number): void {
    this.check();
    this.#attempt("writing", () => this.#directory.check?.());
    const file = this.#file ?? this.#open(true, 0);
    if (this.#isTorn) this.#truncate(file);
    if (count === 0) return;
    const start = this.#start;
    const bytes = this.#memory.u8.subarray(start, start + count);
    this.#isTorn = true;
    this.#isSynced = false;
    try {
      for (let done = 0; done < bytes.length; ) {
        const written = this.#attempt("writing", () => file.write(bytes.subarray(done), this.#writtenBytes + done));
        if (!(written > 0)) throw ioError(`writing ${this.#name} failed: nothing was taken`, undefined);
        done += written;
      }
    } catch (error) {
      try {
        this.#truncate(file);
      } catch {
        // It is tried again before the next write.
      }
      throw error;
    }
    this.#isTorn = false;
    this.#writtenBytes += count;
    this.#pendingBytes -= count;
    if (this.#pendingBytes > 0) this.#memory.u8.copyWithin(this.#start, start + count, start + count + this.#pendingBytes);
  }

  /** Writes what waits, and has it on the disk. @throws ReplayError IO; where it was the disk that failed, now and for ever */
  sync(): void {
    this.drain();
    const previous = this.#previous;
    if (this.#isSynced && previous === undefined) return;
    try {
      // In order: what is on the disk is the beginning of what was written.
      previous?.sync();
      if (!this.#isSynced) this.#attempt("syncing", () => (this.#file as StorageFile).sync());
    } catch (error) {
      // Systems drop what they could not write, and say so once: a second try would succeed, and prove nothing.
      this.#syncError = error as ReplayError;
      throw error;
    }
    this.#isSynced = true;
    if (previous !== undefined) previous.#sealAndClose();
    this.#previous = undefined;
    this.#unsyncedSegments = 0;
  }

  /** @throws ReplayError IO where a sync failed before */
  check(): void {
    if (this.#syncError !== undefined) throw ioError(`${this.#syncError.message}; nobody knows what is on the disk: open it again`, this.#syncError.cause);
  }

  close(): void {
    this.#previous?.close();
    this.#file?.close();
    this.#file = undefined;
  }

  /** A SEAL, made in memory behind what waits. */
  #sealOf(group: number): Uint8Array {
    const memory = this.#memory;
    const payload = numberBytes(group);
    const at = this.#start + this.#pendingBytes;
    memory.reserve(at + SECTION_BYTES + payload.length);
    memory.u8.set(payload, at + SECTION_BYTES);
    memory.seal(at, SEAL, 0, payload.length);
    return memory.u8.slice(at, at + SECTION_BYTES + payload.length);
  }

  /** Says that there is a next segment, and closes. Where that cannot be written it is left out: nothing else depends on it. */
  #sealAndClose(): void {
    const [seal, file] = [this.#seal as Uint8Array, this.#file as StorageFile];
    try {
      if (file.write(seal, this.#writtenBytes) !== seal.length) file.truncate(this.#writtenBytes);
    } catch {
      // What stands there in part is cut off when it is opened again.
    }
    this.close();
  }

  get #name(): string {
    return `${this.#directory.name}/${fileOf(this.segment)}`;
  }

  /** @param bytes that it should have: what more there is, another attempt left */
  #open(create: boolean, bytes: number): StorageFile {
    return this.#attempt("opening", () => {
      const file = this.#directory.open(fileOf(this.segment), create);
      try {
        if (file.size !== bytes) this.#isTorn = true;
      } catch (error) {
        file.close();
        throw error;
      }
      this.#file = file;
      return file;
    });
  }

  #truncate(file: StorageFile): void {
    this.#attempt("truncating", () => file.truncate(this.#writtenBytes));
    this.#isTorn = false;
  }

  #attempt<T>(doing: string, call: () => T): T {
    return withIoErrors(doing, this.#directory, fileOf(this.segment), call);
  }
}
