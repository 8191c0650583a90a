/**
 * A directory that somebody else may be writing to, as it was at one moment, without a lock. Its files are kept open, so that what the owner removes meanwhile can still be read. Writes stay
 * in memory, so that a journal can be opened.
 */
import { codeOf } from "../../base/error.ts";
import { attempt } from "../../files/attempt.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import { memory } from "../../files/memory.ts";
import { node } from "../../files/node.ts";
import { type LogFiles, momentNow, readingOneMomentNow, type SegmentSizes } from "./moment.ts";

export interface ReadOnlyOptions {
  /** A directory that was opened before: files that are gone by now are read from it. It is not to be used any more. */
  readonly after?: ReadOnlyDirectory | undefined;
  /** Whether files are opened when they are read: for logs whose owner removes none. */
  readonly lazily?: boolean;
}

export class ReadOnlyDirectory implements Directory {
  readonly name: string;
  /** Whether its files stay open when the log in it is closed. */
  stays = false;
  readonly #below: Directory;
  #lazily: boolean;
  readonly #files: Map<string, StorageFile>;
  readonly #sizes: Map<string, number>;
  readonly #changed = memory();

  /** @throws ReplayError LOCKED where the owner makes and removes files all the time · IO */
  constructor(of: string | Directory, { after, lazily = false }: ReadOnlyOptions = {}) {
    this.#below = typeof of === "string" ? node(of) : of;
    this.name = this.#below.name;
    this.#lazily = lazily;
    this.#files = after?.taken() ?? new Map();
    try {
      this.#sizes = new Map(this.#moment());
    } catch (error) {
      this.close();
      throw error;
    }
  }

  list(): string[] {
    return [...new Set([...this.#sizes.keys(), ...this.#changed.list()])];
  }

  open(name: string, create: boolean): StorageFile {
    const size = this.#sizes.get(name);
    if (size === undefined || this.#changed.list().includes(name)) return this.#changed.open(name, create);
    const below = this.#lazily ? this.#opened(name) : (this.#files.get(name) as StorageFile);
    return new FileBelow(below, size, this.#lazily, () => this.#changed.open(name, true));
  }

  remove(name: string): void {
    this.#files.get(name)?.close();
    this.#files.delete(name);
    this.#sizes.delete(name);
    if (this.#changed.list().includes(name)) this.#changed.remove(name);
  }

  lock(): () => void {
    return () => {
      if (!this.stays) this.close();
    };
  }

  /** Lets go of all files. */
  close(): void {
    for (const file of this.taken().values()) file.close();
  }

  /** The open files: another one closes them from now on. */
  taken(): Map<string, StorageFile> {
    const files = new Map(this.#files);
    this.#files.clear();
    return files;
  }

  #moment(): SegmentSizes {
    const files: LogFiles = {
      list: () => attempt("listing", this.#below, "", () => this.#below.list()),
      look: (name) => this.#look(name),
      read: (name, at, length) => this.#read(name, at, length),
    };
    const sizes = momentNow(files);
    for (const [name, file] of this.#files) {
      if (sizes.has(name) && !this.#lazily) continue;
      file.close();
      this.#files.delete(name);
    }
    return sizes;
  }

  /** Opens a file anew: another one may have its name. One that is gone is what it was. */
  #look(name: string): number | undefined {
    const before = this.#files.get(name);
    try {
      const file = this.#opened(name);
      before?.close();
      if (this.#lazily) this.close();
      this.#files.set(name, file);
      return file.size;
    } catch (error) {
      const code = codeOf((error as Error).cause);
      if (code === "ENOENT") return before?.size;
      if (code !== "EMFILE" || this.#lazily) throw error;
      // Those of a log that keeps so many stay where they are.
      this.#lazily = true;
      this.close();
      return this.#look(name);
    }
  }

  #read(name: string, at: number, length: number): Uint8Array {
    const file = this.#files.get(name) ?? this.#opened(name);
    this.#files.set(name, file);
    const bytes = new Uint8Array(length);
    let done = 0;
    for (let read = -1; read !== 0 && done < length; done += read)
      read = attempt("reading", this.#below, name, () => file.read(bytes.subarray(done), at + done));
    return bytes.subarray(0, done);
  }

  #opened(name: string): StorageFile {
    return attempt("opening", this.#below, name, () => this.#below.open(name, false));
  }
}

/** Reads moments of a directory until one makes sense (`readingOneMoment`): its files are closed where none does. */
export function readingMoments<T>(of: Directory, read: (moment: ReadOnlyDirectory) => T): T {
  let moment: ReadOnlyDirectory | undefined;
  try {
    const found = readingOneMomentNow(of.name, () => {
      moment = new ReadOnlyDirectory(of, { after: moment });
      moment.stays = true;
      return read(moment);
    });
    if (moment !== undefined) moment.stays = false;
    return found;
  } catch (error) {
    moment?.close();
    throw error;
  }
}

/** Reads the file on disk, as long as it was at the moment, until the first write, and a copy in memory from then on. */
class FileBelow implements StorageFile {
  readonly #closes: boolean;
  readonly #below: StorageFile;
  readonly #size: number;
  readonly #makeCopy: () => StorageFile;
  #copy: StorageFile | undefined;

  /** @param closes whether the file below is closed with this one */
  constructor(below: StorageFile, size: number, closes: boolean, makeCopy: () => StorageFile) {
    this.#below = below;
    this.#size = size;
    this.#closes = closes;
    this.#makeCopy = makeCopy;
  }

  get size(): number {
    return this.#copy?.size ?? this.#size;
  }

  read(into: Uint8Array, at: number): number {
    if (this.#copy !== undefined) return this.#copy.read(into, at);
    const left = Math.max(0, this.#size - at);
    return left === 0 ? 0 : this.#below.read(into.length > left ? into.subarray(0, left) : into, at);
  }

  write(from: Uint8Array, at: number): number {
    return this.#own().write(from, at);
  }

  truncate(bytes: number): void {
    this.#own().truncate(bytes);
  }

  sync(): void {}

  close(): void {
    this.#copy?.close();
    if (this.#closes) this.#below.close();
  }

  #own(): StorageFile {
    if (this.#copy !== undefined) return this.#copy;
    const bytes = new Uint8Array(this.#size);
    let done = 0;
    for (let read = -1; read !== 0 && done < bytes.length; done += read) read = this.read(bytes.subarray(done), done);
    const copy = this.#makeCopy();
    copy.write(bytes.subarray(0, done), 0);
    this.#copy = copy;
    return copy;
  }
}
