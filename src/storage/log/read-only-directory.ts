/**
 * Implements a snapshot of a directory that another process may be writing, without a lock. The files stay open, so that they can be read even after the owner
 * removes them. Writes stay in memory, so that a journal can be opened.
 */
import { codeOf } from "../../base/error.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import { memory } from "../../files/memory.ts";
import { node } from "../../files/node.ts";
import { type LogFiles, readConsistentlyNow, readSizesNow, type SegmentSizes } from "./file-sizes.ts";

export interface ReadOnlyOptions {
  /** An earlier view of the directory. Its open files are taken over, so that files that were removed since can be read. It must not be used afterwards. */
  readonly previous?: ReadOnlyDirectory | undefined;
  /** Whether to open files only when they are read, which suits logs whose owner removes no files. */
  readonly isLazy?: boolean;
}

export class ReadOnlyDirectory implements Directory {
  readonly name: string;
  /** Whether the files stay open when the directory's log is closed. */
  keepsOpen = false;
  readonly #source: Directory;
  #isLazy: boolean;
  readonly #files: Map<string, StorageFile>;
  readonly #sizes: Map<string, number>;
  readonly #overlay = memory();

  /** @throws ReplayError LOCKED if the owner creates and removes files all the time · IO if the directory cannot be read */
  constructor(of: string | Directory, { previous, isLazy = false }: ReadOnlyOptions = {}) {
    this.#source = typeof of === "string" ? node(of) : of;
    this.name = this.#source.name;
    this.#isLazy = isLazy;
    this.#files = previous?.takeFiles() ?? new Map();
    try {
      this.#sizes = new Map(this.#readSizes());
    } catch (error) {
      this.close();
      throw error;
    }
  }

  list(): string[] {
    return [...new Set([...this.#sizes.keys(), ...this.#overlay.list()])];
  }

  open(name: string, create: boolean): StorageFile {
    const size = this.#sizes.get(name);
    if (size === undefined || this.#overlay.list().includes(name)) return this.#overlay.open(name, create);
    const file = this.#isLazy ? this.#openSource(name) : (this.#files.get(name) as StorageFile);
    return new OverlayFile(file, size, this.#isLazy, () => this.#overlay.open(name, true));
  }

  remove(name: string): void {
    this.#files.get(name)?.close();
    this.#files.delete(name);
    this.#sizes.delete(name);
    if (this.#overlay.list().includes(name)) this.#overlay.remove(name);
  }

  lock(): () => void {
    return () => {
      if (!this.keepsOpen) this.close();
    };
  }

  /** Closes all files. */
  close(): void {
    for (const file of this.takeFiles().values()) file.close();
  }

  /** Returns the open files, which the caller must close. */
  takeFiles(): Map<string, StorageFile> {
    const files = new Map(this.#files);
    this.#files.clear();
    return files;
  }

  #readSizes(): SegmentSizes {
    const files: LogFiles = {
      list: () => withIoErrors("listing", this.#source, "", () => this.#source.list()),
      size: (name) => this.#reopen(name),
      read: (name, at, length) => this.#read(name, at, length),
    };
    const sizes = readSizesNow(files);
    for (const [name, file] of this.#files) {
      if (sizes.has(name) && !this.#isLazy) continue;
      file.close();
      this.#files.delete(name);
    }
    return sizes;
  }

  /** Reopens a file, since another file may have taken its name, and returns its size. If the file was removed, its earlier contents are used, if any. */
  #reopen(name: string): number | undefined {
    const previous = this.#files.get(name);
    try {
      const file = this.#openSource(name);
      previous?.close();
      if (this.#isLazy) this.close();
      this.#files.set(name, file);
      return file.size;
    } catch (error) {
      const code = codeOf((error as Error).cause);
      if (code === "ENOENT") return previous?.size;
      if (code !== "EMFILE" || this.#isLazy) throw error;
      // Too many files are open. A log with this many segments never removes files, so its files need not stay open.
      this.#isLazy = true;
      this.close();
      return this.#reopen(name);
    }
  }

  #read(name: string, at: number, length: number): Uint8Array {
    const file = this.#files.get(name) ?? this.#openSource(name);
    this.#files.set(name, file);
    const bytes = new Uint8Array(length);
    let done = 0;
    for (let read = -1; read !== 0 && done < length; done += read)
      read = withIoErrors("reading", this.#source, name, () => file.read(bytes.subarray(done), at + done));
    return bytes.subarray(0, done);
  }

  #openSource(name: string): StorageFile {
    return withIoErrors("opening", this.#source, name, () => this.#source.open(name, false));
  }
}

/** Reads states of a directory until one is consistent (`readConsistently`), and closes the files of inconsistent states. */
export function withReadOnlyDirectory<T>(of: Directory, read: (moment: ReadOnlyDirectory) => T): T {
  let moment: ReadOnlyDirectory | undefined;
  try {
    const result = readConsistentlyNow(of.name, () => {
      moment = new ReadOnlyDirectory(of, { previous: moment });
      moment.keepsOpen = true;
      return read(moment);
    });
    if (moment !== undefined) moment.keepsOpen = false;
    return result;
  } catch (error) {
    moment?.close();
    throw error;
  }
}

/** A file that is read from the disk, up to its length when the directory was read. After the first write, the file is read from a copy in memory. */
class OverlayFile implements StorageFile {
  readonly #ownsSource: boolean;
  readonly #source: StorageFile;
  readonly #size: number;
  readonly #makeCopy: () => StorageFile;
  #copy: StorageFile | undefined;

  /** @param ownsSource whether to close the underlying file together with this file */
  constructor(source: StorageFile, size: number, ownsSource: boolean, makeCopy: () => StorageFile) {
    this.#source = source;
    this.#size = size;
    this.#ownsSource = ownsSource;
    this.#makeCopy = makeCopy;
  }

  get size(): number {
    return this.#copy?.size ?? this.#size;
  }

  read(into: Uint8Array, at: number): number {
    if (this.#copy !== undefined) return this.#copy.read(into, at);
    const remaining = Math.max(0, this.#size - at);
    return remaining === 0 ? 0 : this.#source.read(into.length > remaining ? into.subarray(0, remaining) : into, at);
  }

  write(from: Uint8Array, at: number): number {
    return this.#copyOnWrite().write(from, at);
  }

  truncate(bytes: number): void {
    this.#copyOnWrite().truncate(bytes);
  }

  sync(): void {}

  close(): void {
    this.#copy?.close();
    if (this.#ownsSource) this.#source.close();
  }

  #copyOnWrite(): StorageFile {
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
