/** Implements a folder of the file system, for Node, Deno and Bun. */
import { mustBe } from "../base/error.ts";
import { type Builtins, nodeModules, refusePipe } from "./builtins.ts";
import { closable, type Directory, type StorageFile } from "./directory.ts";
import { withIoErrors } from "./io-errors.ts";
import { type FolderLock, lockFolder } from "./node-lock.ts";

/**
 * Returns a directory on the disk. The folder is created when it is locked, or when the first file is created in it.
 * @throws TypeError if the path is not a non-empty string
 * @throws ReplayError UNSUPPORTED if the runtime cannot access the file system
 */
export function node(path: string): Directory {
  if (typeof path !== "string" || path === "") throw mustBe(TypeError, "path", "the path of a folder", path);
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return new NodeDirectory(path.slice(0, end), nodeModules());
}

class NodeDirectory implements Directory {
  readonly name: string;
  readonly path: string;
  readonly #builtins: Builtins;
  /** The lock on the folder, while this object holds it. */
  #lock: FolderLock | undefined;

  constructor(name: string, builtins: Builtins) {
    this.name = name;
    this.path = builtins.path.resolve(name);
    this.#builtins = builtins;
  }

  list(): string[] {
    return this.#builtins.fs.readdirSync(this.path);
  }

  open(name: string, create: boolean): StorageFile {
    const { fs } = this.#builtins;
    const { O_CREAT, O_RDONLY, O_RDWR } = fs.constants;
    const path = this.#path(name);
    this.check();
    if (create) {
      // A locked folder existed when it was locked. If it has disappeared since, opening the file must fail.
      if (this.#lock === undefined) fs.mkdirSync(this.path, { recursive: true });
      return nodeFile(this.#builtins, this.path, fs.openSync(path, O_RDWR | O_CREAT));
    }
    refusePipe(fs, path);
    try {
      return nodeFile(this.#builtins, this.path, fs.openSync(path, O_RDWR));
    } catch (error) {
      // A file without write permission is opened only for reading.
      if (!["EACCES", "EPERM", "EROFS"].includes((error as { code?: string }).code ?? "")) throw error;
      return nodeFile(this.#builtins, this.path, fs.openSync(path, O_RDONLY));
    }
  }

  remove(name: string): void {
    this.check();
    this.#builtins.fs.unlinkSync(this.#path(name));
  }

  rename(name: string, to: string): void {
    this.#builtins.fs.renameSync(this.#path(name), this.#path(to));
    syncFolder(this.#builtins, this.path);
  }

  lock(onTakeover: () => void, takeOver = false): () => void {
    withIoErrors("opening", this, "", () => this.#builtins.fs.mkdirSync(this.path, { recursive: true }));
    // If the folder cannot be synced, this call must fail now, because nothing could be guaranteed later.
    syncFolder(this.#builtins, this.path);
    const lock = lockFolder(this.#builtins, this.path, onTakeover, takeOver);
    this.#lock = lock;
    return () => {
      if (this.#lock === lock) this.#lock = undefined;
      lock.release();
    };
  }

  check(): void {
    this.#lock?.check();
  }

  #path(name: string): string {
    return `${this.path}/${name}`;
  }
}

function nodeFile(builtins: Builtins, folder: string, file: number): StorageFile {
  const { fs } = builtins;
  // A killed process may have created the file without syncing its name, so the name is synced even for an existing file.
  let isNamed = false;
  return closable(`a file of ${folder}`, {
    size: () => fs.fstatSync(file).size,
    read: (into, at) => fs.readSync(file, into, 0, into.length, at),
    write: (from, at) => fs.writeSync(file, from, 0, from.length, at),
    truncate: (bytes) => fs.ftruncateSync(file, bytes),
    sync: () => {
      fs.fsyncSync(file);
      if (!isNamed) syncFolder(builtins, folder);
      isNamed = true;
    },
    close: () => fs.closeSync(file),
  });
}

/** Syncs a folder. Windows cannot open folders, and does not need to sync them. */
function syncFolder({ fs, process }: Builtins, path: string): void {
  if (process.platform === "win32") return;
  const folder = fs.openSync(path, "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}
