/** Appends to the newest segment, and keeps its file open. Sections wait in memory until they are written. After a failed write, they continue to wait. */
import { ReplayError } from "../../base/error.ts";
import { SEAL } from "../../base/kinds.ts";
import { MAX_SECTION_BYTES } from "../../base/limits.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import { ioError, withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { addToSum, MAGIC, numberBytes, SECTION_BYTES } from "../format/section.ts";
import { fileOf } from "./segment-head.ts";

/** When this many bytes are waiting, they are written without waiting for a flush. */
export const FULL_BYTES = 1 << 17;
/** The unit of writes, in bytes. Whole pages are written if possible, since the system copies aligned data faster (25 % in a measurement). */
const PAGE = 4096;
/** The maximum number of files kept open until they are synced. */
const MAX_UNSYNCED = 32;
/** The maximum number of bytes in a payload that a loop copies faster than a call to `set`. */
const SHORT = 48;
/** The offset of the checksum in a section, in bytes. */
const CRC = 12;

/** A position in a segment: the number of bytes up to the position, and the sum of the sections in these bytes. */
export interface Mark {
  readonly bytes: number;
  readonly sum: number;
}

/** The position at which a group begins. */
export interface GroupMark {
  readonly segment: number;
  readonly group: number;
  readonly at: Mark;
}

export class SegmentWriter {
  readonly segment: number;
  readonly #directory: Directory;
  readonly #memory: SectionMemory;
  #file: StorageFile | undefined;
  /** The number of valid bytes of the file. */
  #writtenBytes: number;
  /** The number of waiting bytes. */
  #pendingBytes = 0;
  /** The sum of all sections, including waiting sections. */
  #sum: number;
  /** Whether the file may be longer than `#writtenBytes`. */
  #isTorn = false;
  #isSynced = true;
  /** The previous segment, as long as it may not be on the disk, and the number of consecutive segments in that state. */
  #previous: SegmentWriter | undefined;
  #unsyncedSegments = 0;
  /** The seal, which is written after the last group when the next segment is on the disk. If that segment is missing later, the seal reveals the loss. */
  #seal: Uint8Array | undefined;
  /** The error of a failed sync, after which the state of the disk is unknown. */
  #syncError: ReplayError | undefined;

  /** @param mark the valid part of the file; the rest is cut off. If the mark is empty, a new file is created at the first write */
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
      // The file's writer may have been killed before a sync.
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
   * Begins the next segment in the same memory, after everything is written. The first sync of the next segment syncs, seals and closes this segment.
   * @param group the number of the next group
   */
  next(segment: number, group: number): SegmentWriter {
    if (this.#unsyncedSegments >= MAX_UNSYNCED) this.sync();
    const next = new SegmentWriter(this.#directory, segment, { bytes: 0, sum: 0 }, this.#memory);
    next.#follow(this, group);
    return next;
  }

  /** Continues after segments that are not sealed yet, oldest first. Each mark is the end of its segment, and each group is the number of the next group. */
  followAll(segments: readonly { readonly id: number; readonly mark: Mark; readonly group: number }[]): void {
    let next: SegmentWriter = this;
    for (const { id, mark, group } of [...segments].reverse()) {
      const previous = new SegmentWriter(this.#directory, id, mark, this.#memory);
      next.#follow(previous, group);
      next = previous;
    }
  }

  /** Continues after another segment, which is not sealed yet. */
  #follow(previous: SegmentWriter, group: number): void {
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
        throw new ReplayError("OUT_OF_MEMORY", `${size} bytes are waiting to be written to ${this.#directory.name}, but the limit is ${MAX_SECTION_BYTES}`);
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

  /** The address of the waiting bytes. Its offset in a page of memory equals their offset in a page of the file. */
  get #start(): number {
    return this.#memory.base + (this.#writtenBytes % PAGE);
  }

  /** Discards everything after a mark. */
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

  /** Writes waiting bytes, except a last incomplete page. @throws ReplayError IO if the write failed; the call may be repeated */
  spill(): void {
    this.#write(Math.max(this.#pendingBytes - ((this.#writtenBytes + this.#pendingBytes) % PAGE), 0));
  }

  /** Writes all waiting bytes. @throws ReplayError IO if the write failed; the call may be repeated */
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
        if (!(written > 0)) throw ioError(`writing ${this.#name} failed: the disk accepted no data`, undefined);
        done += written;
      }
    } catch (error) {
      try {
        this.#truncate(file);
      } catch {
        // Truncating the file is retried before the next write.
      }
      throw error;
    }
    this.#isTorn = false;
    this.#writtenBytes += count;
    this.#pendingBytes -= count;
    if (this.#pendingBytes > 0) this.#memory.u8.copyWithin(this.#start, start + count, start + count + this.#pendingBytes);
  }

  /** Writes and syncs all waiting bytes. @throws ReplayError IO; if the sync failed, every later call also throws */
  sync(): void {
    this.drain();
    const previous = this.#previous;
    if (this.#isSynced && previous === undefined) return;
    try {
      // The segments are synced in order, so that the disk always has a prefix of the written data.
      previous?.sync();
      if (!this.#isSynced) this.#attempt("syncing", () => (this.#file as StorageFile).sync());
    } catch (error) {
      // Systems discard data that they could not write, and report the failure only once. A second sync would succeed without proving anything.
      this.#syncError = error as ReplayError;
      throw error;
    }
    this.#isSynced = true;
    if (previous !== undefined) previous.#sealAndClose();
    this.#previous = undefined;
    this.#unsyncedSegments = 0;
  }

  /** @throws ReplayError IO if an earlier sync failed */
  check(): void {
    if (this.#syncError !== undefined)
      throw ioError(`${this.#syncError.message}. The state of the disk is unknown. Open the directory again`, this.#syncError.cause);
  }

  close(): void {
    this.#previous?.close();
    this.#file?.close();
    this.#file = undefined;
  }

  /** Returns a SEAL, created in memory after the waiting bytes. */
  #sealOf(group: number): Uint8Array {
    const memory = this.#memory;
    const payload = numberBytes(group);
    const at = this.#start + this.#pendingBytes;
    memory.reserve(at + SECTION_BYTES + payload.length);
    memory.u8.set(payload, at + SECTION_BYTES);
    memory.seal(at, SEAL, 0, payload.length);
    return memory.u8.slice(at, at + SECTION_BYTES + payload.length);
  }

  /** Writes the seal and closes the file. A failed write is ignored, since nothing depends on the seal. */
  #sealAndClose(): void {
    const [seal, file] = [this.#seal as Uint8Array, this.#file as StorageFile];
    try {
      if (file.write(seal, this.#writtenBytes) !== seal.length) file.truncate(this.#writtenBytes);
    } catch {
      // An incomplete seal is cut off when the log is opened again.
    }
    this.close();
  }

  get #name(): string {
    return `${this.#directory.name}/${fileOf(this.segment)}`;
  }

  /** Opens the segment's file. @param bytes the number of valid bytes; any further bytes are left from an interrupted write */
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
