/** A directory on disk, without a lock. Writes stay in memory, so a journal can be read while its owner writes it. */
import { readdirSync } from "node:fs";
import { type Directory, memory, node, type StorageFile } from "../store/index.ts";

export class ReadOnlyDirectory implements Directory {
  readonly name: string;
  readonly #below: Directory;
  readonly #changed = memory();
  readonly #removed = new Set<string>();

  constructor(path: string) {
    this.name = path;
    this.#below = node(path);
  }

  list(): string[] {
    return [...new Set([...readdirSync(this.name), ...this.#changed.list()])].filter((name) => !this.#removed.has(name));
  }

  open(name: string, create: boolean): StorageFile {
    if (this.#changed.list().includes(name)) return this.#changed.open(name, false);
    if (this.#removed.has(name) || !readdirSync(this.name).includes(name)) return this.#changed.open(name, create);
    return new FileBelow(this.#below.open(name, false), () => this.#changed.open(name, true));
  }

  remove(name: string): void {
    this.#removed.add(name);
    if (this.#changed.list().includes(name)) this.#changed.remove(name);
  }

  lock(): () => void {
    return () => {};
  }
}

/** Reads the file on disk until the first write, and a copy in memory from then on. */
class FileBelow implements StorageFile {
  #file: StorageFile;
  #copy: (() => StorageFile) | undefined;

  constructor(file: StorageFile, copy: () => StorageFile) {
    this.#file = file;
    this.#copy = copy;
  }

  get size(): number {
    return this.#file.size;
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

  close(): void {
    this.#file.close();
  }

  #own(): StorageFile {
    if (this.#copy === undefined) return this.#file;
    const bytes = new Uint8Array(this.#file.size);
    let done = 0;
    for (let read = -1; read !== 0 && done < bytes.length; done += read) read = this.#file.read(bytes.subarray(done), done);
    const copy = this.#copy();
    copy.write(bytes.subarray(0, done), 0);
    this.#file.close();
    this.#file = copy;
    this.#copy = undefined;
    return copy;
  }
}
