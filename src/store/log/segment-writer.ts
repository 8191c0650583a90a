/** The end of the newest segment: bytes that wait in memory, and the file that they go to. A write that fails leaves both as they were. */
import { MAX_BYTES, type SectionMemory } from "../../core/section-memory.ts";
import { ReplayError } from "../../error.ts";
import { attempt, ioError } from "../directory/attempt.ts";
import type { Directory, StorageFile } from "../directory/directory.ts";
import { MAGIC, SECTION_BYTES } from "../format/section.ts";
import { fileOf } from "./segment-head.ts";

/** From here on bytes are written without being asked for. */
export const FULL_BYTES = 1 << 17;
/** Whole ones are written while there is time: the system copies what is aligned faster (measured, a quarter). */
const PAGE = 4096;
/** Files that are kept open to be synced. */
const MAX_BEHIND = 32;
/** Up to here a loop copies faster than a call. */
const SHORT = 48;

export class SegmentWriter {
  readonly segment: number;
  readonly #directory: Directory;
  readonly #memory: SectionMemory;
  #file: StorageFile | undefined;
  /** Bytes of the file that are as they should be. */
  #written: number;
  /** Bytes that wait. */
  #waiting = 0;
  /** Whether there may be more in the file than `#written`. */
  #torn = false;
  #synced = true;
  /** The segment before, as long as it is not known to be on the disk; and how many there are in a row. */
  #before: SegmentWriter | undefined;
  #behind = 0;
  /** Why nobody knows what is on the disk. */
  #lost: ReplayError | undefined;

  /** @param written bytes of the file that count; the rest is cut off. 0: a new one, which is made when it is first written to */
  constructor(directory: Directory, segment: number, written: number, memory: SectionMemory) {
    this.segment = segment;
    this.#directory = directory;
    this.#memory = memory;
    this.#written = written;
    if (written === 0) {
      memory.u8.set(new TextEncoder().encode(MAGIC), this.#start);
      this.#waiting = MAGIC.length;
    } else {
      const file = this.#open(false);
      if (file.size === written) return;
      this.#torn = true;
      this.#synced = false;
      this.sync();
    }
  }

  get bytes(): number {
    return this.#written + this.#waiting;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Begins the next segment, in the same memory, when all is written. This one is synced and closed by its first sync. */
  next(): SegmentWriter {
    if (this.#behind >= MAX_BEHIND) this.sync();
    const next = new SegmentWriter(this.#directory, this.segment + 1, 0, this.#memory);
    next.#before = this;
    next.#behind = this.#behind + 1;
    return next;
  }

  add(kind: number, id: number, payload: Uint8Array): void {
    const { length } = payload;
    const memory = this.#memory;
    const size = this.#waiting + SECTION_BYTES + length;
    const at = this.#start + this.#waiting;
    if (this.#start + size > memory.u8.length) {
      if (size > MAX_BYTES) throw new ReplayError("OUT_OF_MEMORY", `${size} bytes wait to be written to ${this.#directory.name}; the limit is ${MAX_BYTES}`);
      memory.reserve(PAGE + size);
    }
    const { u8 } = memory;
    const to = at + SECTION_BYTES;
    if (length > SHORT) u8.set(payload, to);
    else for (let i = 0; i < length; i++) u8[to + i] = payload[i] as number;
    memory.seal(at, kind, id, length);
    this.#waiting = size;
  }

  /** Where in memory the bytes are that wait: as far from the begin of a page as their place in the file. */
  get #start(): number {
    return this.#memory.base + (this.#written % PAGE);
  }

  /** Forgets everything behind an offset of the file. */
  cut(bytes: number): void {
    if (bytes >= this.#written) {
      this.#waiting = bytes - this.#written;
      return;
    }
    this.#waiting = 0;
    this.#written = bytes;
    this.#torn = true;
    this.#synced = false;
  }

  /** Writes what waits, but for the last page that is not full. @throws ReplayError IO where that failed: it may be tried again */
  spill(): void {
    this.#write(Math.max(this.#waiting - ((this.#written + this.#waiting) % PAGE), 0));
  }

  /** Writes what waits. @throws ReplayError IO likewise */
  drain(): void {
    this.#write(this.#waiting);
  }

  #write(count: number): void {
    this.check();
    const file = this.#file ?? this.#open(true);
    if (this.#torn) this.#truncate(file);
    if (count === 0) return;
    const start = this.#start;
    const bytes = this.#memory.u8.subarray(start, start + count);
    this.#torn = true;
    this.#synced = false;
    try {
      for (let done = 0; done < bytes.length; ) {
        const taken = this.#attempt("writing", () => file.write(bytes.subarray(done), this.#written + done));
        if (!(taken > 0)) throw ioError(`writing ${this.#name} failed: nothing was taken`, undefined);
        done += taken;
      }
    } catch (error) {
      try {
        this.#truncate(file);
      } catch {
        // It is tried again before the next write.
      }
      throw error;
    }
    this.#torn = false;
    this.#written += count;
    this.#waiting -= count;
    if (this.#waiting > 0) this.#memory.u8.copyWithin(this.#start, start + count, start + count + this.#waiting);
  }

  /** Writes what waits, and has it on the disk. @throws ReplayError IO; where it was the disk that failed, now and for ever */
  sync(): void {
    this.drain();
    if (this.#synced && this.#before === undefined) return;
    try {
      // In order: what is on the disk is the beginning of what was written.
      this.#before?.sync();
      if (!this.#synced) this.#attempt("syncing", () => (this.#file as StorageFile).sync());
    } catch (error) {
      // Systems drop what they could not write, and say so once: a second try would succeed, and prove nothing.
      this.#lost = error as ReplayError;
      throw error;
    }
    this.#synced = true;
    this.#before?.close();
    this.#before = undefined;
    this.#behind = 0;
  }

  /** @throws ReplayError IO where a sync failed before */
  check(): void {
    if (this.#lost !== undefined) throw ioError(`${this.#lost.message}; nobody knows what is on the disk: open it again`, this.#lost.cause);
  }

  close(): void {
    this.#before?.close();
    this.#file?.close();
    this.#file = undefined;
  }

  get #name(): string {
    return `${this.#directory.name}/${fileOf(this.segment)}`;
  }

  #open(create: boolean): StorageFile {
    this.#file = this.#attempt("opening", () => this.#directory.open(fileOf(this.segment), create));
    if (create && this.#file.size > 0) this.#torn = true;
    return this.#file;
  }

  #truncate(file: StorageFile): void {
    this.#attempt("truncating", () => file.truncate(this.#written));
    this.#torn = false;
  }

  #attempt<T>(doing: string, call: () => T): T {
    return attempt(doing, this.#directory, fileOf(this.segment), call);
  }
}
