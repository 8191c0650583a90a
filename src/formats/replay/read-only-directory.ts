/**
 * A directory on disk, without a lock. Writes stay in memory, so a journal can be read while its owner writes it: all its files are opened at one moment, so that
 * what the owner removes meanwhile can still be read.
 */
import { ReplayError } from "../../error.ts";
import { attempt } from "../../store/directory/attempt.ts";
import { type Directory, memory, node, type StorageFile } from "../../store/index.ts";

export const SEGMENT = /^\d{8}\.rpr$/;
const TRIES = 100;

export class ReadOnlyDirectory implements Directory {
  readonly name: string;
  readonly #below = new Map<string, StorageFile>();
  readonly #changed = memory();

  /** @throws ReplayError LOCKED where the owner makes and removes files all the time */
  constructor(path: string) {
    this.name = path;
    const below = node(path);
    for (let tries = 0; tries < TRIES; tries++) if (this.#opens(below)) return;
    throw new ReplayError("LOCKED", `${path} changes all the time: try again`);
  }

  list(): string[] {
    return [...new Set([...this.#below.keys(), ...this.#changed.list()])];
  }

  open(name: string, create: boolean): StorageFile {
    const below = this.#below.get(name);
    if (below === undefined || this.#changed.list().includes(name)) return this.#changed.open(name, create);
    return new FileBelow(below, () => this.#changed.open(name, true));
  }

  remove(name: string): void {
    this.#below.get(name)?.close();
    this.#below.delete(name);
    if (this.#changed.list().includes(name)) this.#changed.remove(name);
  }

  lock(): () => void {
    return () => this.close();
  }

  /** Lets go of all files. */
  close(): void {
    for (const file of this.#below.values()) file.close();
    this.#below.clear();
  }

  /** Opens all files: whether they were there together. */
  #opens(below: Directory): boolean {
    const names = segmentsIn(below);
    try {
      for (const name of names)
        this.#below.set(
          name,
          attempt("opening", below, name, () => below.open(name, false)),
        );
      if (segmentsIn(below).join() === names.join()) return true;
    } catch (error) {
      if ((error as { cause?: { code?: string } }).cause?.code !== "ENOENT") throw error;
    }
    this.close();
    return false;
  }
}

function segmentsIn(below: Directory): string[] {
  return below
    .list()
    .filter((name) => SEGMENT.test(name))
    .sort();
}

/** Reads the file on disk, as long as it was when it was opened, until the first write, and a copy in memory from then on. */
class FileBelow implements StorageFile {
  readonly #size: number;
  #file: StorageFile;
  #copy: (() => StorageFile) | undefined;

  constructor(file: StorageFile, copy: () => StorageFile) {
    this.#file = file;
    this.#size = file.size;
    this.#copy = copy;
  }

  get size(): number {
    return this.#copy === undefined ? this.#file.size : this.#size;
  }

  read(into: Uint8Array, at: number): number {
    return this.#file.read(into, at);
  }

  write(from: Uint8Array, at: number): number {
    return this.#own().write(from, at);
  }

  truncate(bytes: number): void {
    this.#own().truncate(bytes);
  }

  sync(): void {}

  /** The file below is closed with its directory. */
  close(): void {
    if (this.#copy === undefined) this.#file.close();
  }

  #own(): StorageFile {
    if (this.#copy === undefined) return this.#file;
    const bytes = new Uint8Array(this.#size);
    let done = 0;
    for (let read = -1; read !== 0 && done < bytes.length; done += read) read = this.#file.read(bytes.subarray(done), done);
    const copy = this.#copy();
    copy.write(bytes.subarray(0, done), 0);
    this.#file = copy;
    this.#copy = undefined;
    return copy;
  }
}
