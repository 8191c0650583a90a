/** A folder of the file system: Node, Deno, Bun. */
import { mustBe } from "../../error.ts";
import { type Builtins, nodeModules } from "./builtins.ts";
import { closable, type Directory, type StorageFile } from "./directory.ts";
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
  readonly path: string;
  readonly #builtins: Builtins;

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
    if (create) {
      fs.mkdirSync(this.path, { recursive: true });
      return nodeFile(this.#builtins, this.path, fs.openSync(path, O_RDWR | O_CREAT), true);
    }
    try {
      return nodeFile(this.#builtins, this.path, fs.openSync(path, O_RDWR), false);
    } catch (error) {
      // What may only be read can be read.
      if (!["EACCES", "EPERM", "EROFS"].includes((error as { code?: string }).code ?? "")) throw error;
      return nodeFile(this.#builtins, this.path, fs.openSync(path, O_RDONLY), false);
    }
  }

  remove(name: string): void {
    this.#builtins.fs.unlinkSync(this.#path(name));
  }

  rename(name: string, to: string): void {
    this.#builtins.fs.renameSync(this.#path(name), this.#path(to));
    syncFolder(this.#builtins, this.path);
  }

  lock(onTakeover: () => void): () => void {
    this.#builtins.fs.mkdirSync(this.path, { recursive: true });
    return lockFolder(this.#builtins, this.path, onTakeover);
  }

  #path(name: string): string {
    return `${this.path}/${name}`;
  }
}

/** @param isNew whether the folder does not say on the disk yet that there is such a file */
function nodeFile(builtins: Builtins, folder: string, file: number, isNew: boolean): StorageFile {
  const { fs } = builtins;
  let isNamed = !isNew;
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
