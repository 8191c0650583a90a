/** A folder of any source as the log's readers want a directory: what can be read at once is, what must be waited for is fetched first. */
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import { closable, type Directory, type StorageFile } from "../../store/directory/directory.ts";
import { fileOf, segmentOf } from "../../store/log/segment-head.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import type { RecordingFolder } from "./recording-folder.ts";

/** Asked for bytes that are not there yet. */
class Missing extends Error {
  readonly file: string;
  readonly at: number;
  readonly length: number;

  constructor(file: string, at: number, length: number) {
    super(`${file} is not there yet`);
    this.file = file;
    this.at = at;
    this.length = length;
  }
}

/** Bytes of a file that were fetched. */
interface Fetched {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** How many numbers are tried where a folder cannot be listed. */
const MOST_SEGMENTS = 1_000_000;

export class SourceDirectory implements Directory, RecordingFolder {
  readonly name: string;
  readonly #folder: SourceFolder;
  /** Where in the folder it is, with a slash at its end. */
  readonly #prefix: string;
  readonly #maxBytes: number;
  /** Sizes are those of the moment when they were looked at: somebody may still write. */
  readonly #sizes: Map<string, number>;
  readonly #open = new Map<string, SourceFile>();
  readonly #fetched = new Map<string, Fetched>();

  /** @throws RldsError NOT_FOUND where there are no segments, UNSUPPORTED for those of several folders */
  static async of(folder: SourceFolder, maxBytes: number, signal?: AbortSignal): Promise<SourceDirectory> {
    const paths = await folder.list();
    if (paths === undefined) return tried(new SourceDirectory(folder, "", maxBytes), signal);
    const segments = paths.filter((path) => segmentOf(path.slice(path.lastIndexOf("/") + 1)) > 0);
    const prefixes = [...new Set(segments.map((path) => path.slice(0, path.lastIndexOf("/") + 1)))];
    if (prefixes.length === 0) throw none(folder.name);
    if (prefixes.length > 1)
      throw new RldsError("UNSUPPORTED", `there are ${prefixes.length} recordings: give one of ${prefixes.slice(0, 4).join(", ")}`, { file: folder.name });
    const directory = new SourceDirectory(folder, prefixes[0] as string, maxBytes);
    for (const path of segments) {
      signal?.throwIfAborted();
      await directory.look(path.slice(directory.#prefix.length));
    }
    return directory;
  }

  private constructor(folder: SourceFolder, prefix: string, maxBytes: number, sizes = new Map<string, number>()) {
    this.#sizes = sizes;
    this.name = prefix === "" ? folder.name : `${folder.name}/${prefix.slice(0, -1)}`;
    this.#folder = folder;
    this.#prefix = prefix;
    this.#maxBytes = maxBytes;
  }

  /** Notes a segment's size. @throws RldsError NOT_FOUND */
  async look(name: string): Promise<void> {
    const file = await this.#folder.open(this.#prefix + name);
    this.#sizes.set(name, file.size);
    await file.close();
  }

  get directory(): Directory {
    return this;
  }

  fork(): SourceDirectory {
    return new SourceDirectory(this.#folder, this.#prefix, this.#maxBytes, this.#sizes);
  }

  list(): string[] {
    return [...this.#sizes.keys()];
  }

  open(name: string): StorageFile {
    const size = this.#sizes.get(name);
    if (size === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    const readOnly = () => {
      throw new RldsError("UNSUPPORTED", "the recording is only read here", { file: name });
    };
    return closable(name, {
      size: () => size,
      read: (into, at) => this.#read(name, into, at, size),
      write: readOnly,
      truncate: readOnly,
      sync: readOnly,
    });
  }

  remove(name: string): void {
    throw new RldsError("UNSUPPORTED", "the recording is only read here", { file: name });
  }

  lock(): () => void {
    return () => {};
  }

  async reading<T>(read: () => T): Promise<T> {
    for (;;) {
      try {
        return read();
      } catch (error) {
        const { cause } = error as { cause?: unknown };
        if (!(cause instanceof Missing)) throw error;
        await this.#fetch(cause.file, cause.at, cause.length);
      }
    }
  }

  async ready(segment: number): Promise<void> {
    const name = fileOf(segment);
    await this.#fetch(name, 0, this.#sizes.get(name) ?? 0);
  }

  async bytes(name: string, most: number): Promise<Uint8Array> {
    const file = await this.#folder.open(this.#prefix + name);
    try {
      if (file.size > most) throw new RldsError("CORRUPT", `the file has ${file.size} bytes where at most ${most} can be`, { file: name });
      return await file.read(0, file.size);
    } finally {
      await file.close();
    }
  }

  async letGo(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#fetched.clear();
    for (const file of open) await file.close();
  }

  #read(name: string, into: Uint8Array, at: number, size: number): number {
    const length = Math.min(into.length, Math.max(0, size - at));
    if (length === 0) return 0;
    const file = this.#open.get(name);
    if (file?.readNow !== undefined) {
      into.set(file.readNow(at, length));
      return length;
    }
    const there = this.#fetched.get(name);
    const from = at - (there?.at ?? 0);
    if (there === undefined || from < 0 || from + length > there.bytes.length) throw new Missing(name, at, length);
    into.set(there.bytes.subarray(from, from + length));
    return length;
  }

  /** Opens a file; of one that is not read at once, fetches some bytes: they take the place of those before. */
  async #fetch(name: string, at: number, length: number): Promise<void> {
    let file = this.#open.get(name);
    if (file === undefined) {
      file = await this.#folder.open(this.#prefix + name);
      this.#open.set(name, file);
    }
    if (file.readNow !== undefined) return;
    const before = this.#fetched.get(name);
    // A walk begins anew with what it had.
    const from = Math.min(at, before?.at ?? at);
    const to = Math.max(at + length, before === undefined ? 0 : before.at + before.bytes.length);
    if (to - from > this.#maxBytes)
      throw new RldsError("CORRUPT", `${to - from} bytes would be in memory at once, more than the ${this.#maxBytes} that maxBytes allows`, { file: name });
    this.#fetched.set(name, { at: from, bytes: await file.read(from, to - from) });
  }
}

/** Nobody can list the folder: segments have numbers. */
async function tried(directory: SourceDirectory, signal?: AbortSignal): Promise<SourceDirectory> {
  for (let segment = 1; segment <= MOST_SEGMENTS; segment++) {
    signal?.throwIfAborted();
    try {
      await directory.look(fileOf(segment));
    } catch (error) {
      if (!(error instanceof RldsError && error.code === "NOT_FOUND")) throw error;
      if (segment === 1) throw none(directory.name);
      return directory;
    }
  }
  throw new RldsError("UNSUPPORTED", `there are more than ${MOST_SEGMENTS} segments`, { file: directory.name });
}

function none(file: string): RldsError {
  return new RldsError("NOT_FOUND", "there are no segments of a recording (00000001.rpr)", { file });
}
