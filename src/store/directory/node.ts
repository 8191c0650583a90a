/** A folder of the file system: Node, Deno, Bun. */
import { mustBe, ReplayError } from "../../error.ts";
import { type Builtins, nodeModules } from "./builtins.ts";
import type { Directory, StorageFile } from "./directory.ts";
import { lockFolder } from "./node-lock.ts";

/**
 * A folder, made when it is first written to.
 * @throws ReplayError UNSUPPORTED where the runtime has no files
 */
export function node(path: string): Directory {
  if (typeof path !== "string" || path === "") throw mustBe(TypeError, "path", "the path of a folder", path);
  return new NodeDirectory(path.replace(/(?<=.)\/+$/, ""), nodeModules());
}

class NodeDirectory implements Directory {
  readonly name: string;
  readonly #builtins: Builtins;

  constructor(name: string, builtins: Builtins) {
    this.name = name;
    this.#builtins = builtins;
  }

  list(): string[] {
    return this.#builtins.fs.readdirSync(this.name);
  }

  open(name: string, create: boolean): StorageFile {
    const { fs } = this.#builtins;
    const { O_CREAT, O_RDONLY, O_RDWR } = fs.constants;
    const path = this.#path(name);
    if (create) {
      fs.mkdirSync(this.name, { recursive: true });
      return new NodeFile(this.#builtins, this.name, fs.openSync(path, O_RDWR | O_CREAT), true);
    }
    try {
      return new NodeFile(this.#builtins, this.name, fs.openSync(path, O_RDWR), false);
    } catch (error) {
      // What may only be read can be read.
      if (!["EACCES", "EPERM", "EROFS"].includes((error as { code?: string }).code ?? "")) throw error;
      return new NodeFile(this.#builtins, this.name, fs.openSync(path, O_RDONLY), false);
    }
  }

  remove(name: string): void {
    this.#builtins.fs.unlinkSync(this.#path(name));
  }

  rename(name: string, to: string): void {
    this.#builtins.fs.renameSync(this.#path(name), this.#path(to));
    syncFolder(this.#builtins, this.name);
  }

  lock(onTakeover: () => void): () => void {
    this.#builtins.fs.mkdirSync(this.name, { recursive: true });
    return lockFolder(this.#builtins, this.name, onTakeover);
  }

  #path(name: string): string {
    return `${this.name}/${name}`;
  }
}

class NodeFile implements StorageFile {
  readonly #builtins: Builtins;
  readonly #folder: string;
  #file: number | undefined;
  /** Whether the folder does not say on the disk yet that there is such a file. */
  #isNew: boolean;

  constructor(builtins: Builtins, folder: string, file: number, isNew: boolean) {
    this.#builtins = builtins;
    this.#folder = folder;
    this.#file = file;
    this.#isNew = isNew;
  }

  get size(): number {
    return this.#builtins.fs.fstatSync(this.#open).size;
  }

  read(into: Uint8Array, at: number): number {
    return this.#builtins.fs.readSync(this.#open, into, 0, into.length, at);
  }

  write(from: Uint8Array, at: number): number {
    return this.#builtins.fs.writeSync(this.#open, from, 0, from.length, at);
  }

  truncate(bytes: number): void {
    this.#builtins.fs.ftruncateSync(this.#open, bytes);
  }

  sync(): void {
    this.#builtins.fs.fsyncSync(this.#open);
    if (!this.#isNew) return;
    syncFolder(this.#builtins, this.#folder);
    this.#isNew = false;
  }

  close(): void {
    if (this.#file !== undefined) this.#builtins.fs.closeSync(this.#file);
    this.#file = undefined;
  }

  get #open(): number {
    if (this.#file === undefined) throw new ReplayError("CLOSED", `a file of ${this.#folder} was closed`);
    return this.#file;
  }
}

/** Windows opens no folder, and needs no such thing. */
function syncFolder({ fs, process }: Builtins, path: string): void {
  if (process.platform === "win32") return;
  const folder = fs.openSync(path, "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}
