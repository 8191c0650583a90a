/**
 * Implements a folder of the origin private file system, in a worker of a page. Its files are opened ahead of time, since opening is the only asynchronous
 * operation.
 */
import { integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import type { Directory, StorageFile } from "./directory.ts";
import { PoolFile, type SyncHandle } from "./pool-file.ts";

export interface OpfsOptions {
  /** The number of spare files that are kept open for future segments, from 1 to 1000. Default: 4. Ignored if the folder is already open. */
  readonly spare?: number;
}

export interface OpfsDirectory extends Directory {
  /** Closes the files. Until then, no other worker or page can open the folder. */
  close(): void;
}

/** The part of a browser's directory handle that Reprise uses. */
interface Folder {
  getDirectoryHandle(name: string, options: { create: boolean }): Promise<Folder>;
  getFileHandle(name: string, options: { create: boolean }): Promise<{ createSyncAccessHandle?(): Promise<SyncHandle> }>;
  keys(): AsyncIterable<string>;
}

const LOCK = "lock";
const FILE = /^file-(\d+)$/;
/** The maximum number of attempts to open a file. A terminated worker releases its files a little later. */
const TRIES = 20;
/** The time between two attempts, in milliseconds. */
const TRY_MS = 50;

/** The directories of this worker, by path. */
const directories = new Map<string, Promise<Opfs>>();

/**
 * Opens a folder, and creates it if necessary. Repeated calls with the same path return the same directory.
 * @throws TypeError, RangeError if an argument is invalid
 * @throws ReplayError LOCKED if another worker or page has the folder open
 * @throws ReplayError UNSUPPORTED if the runtime has no such file system, or if the caller is not a worker
 */
export async function opfs(path: string, options: OpfsOptions = {}): Promise<OpfsDirectory> {
  if (typeof path !== "string") throw mustBe(TypeError, "path", "the path of a folder", path);
  const spare = integer("spare", onlyKeys("opfs", options, "spare").spare ?? 4, 1, 1000);
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  const name = steps.join("/");
  const existing = directories.get(name);
  if (existing !== undefined) return existing;
  const opening = make(name, steps, spare);
  directories.set(name, opening);
  opening.catch(() => directories.delete(name));
  return opening;
}

async function make(name: string, steps: readonly string[], spare: number): Promise<Opfs> {
  const { storage } = (globalThis.navigator ?? {}) as { storage?: { getDirectory?(): Promise<unknown> } };
  if (storage?.getDirectory === undefined) {
    throw new ReplayError("UNSUPPORTED", "this runtime has no origin private file system. Use node(path) to access files on the disk");
  }
  let folder = (await storage.getDirectory()) as Folder;
  for (const step of steps) folder = await folder.getDirectoryHandle(step, { create: true });
  const directory = new Opfs(name, folder, await retryOpen(() => handleOf(folder, LOCK), name), spare);
  try {
    await directory.openFiles();
  } catch (error) {
    directory.close();
    throw error;
  }
  return directory;
}

class Opfs implements OpfsDirectory {
  readonly name: string;
  readonly fewFiles = true;
  readonly #folder: Folder;
  readonly #lock: SyncHandle;
  readonly #spare: number;
  readonly #files: PoolFile[] = [];
  #next = 1;
  #isFilling = false;
  /** The error of the last attempt to create spare files. Undefined if the attempt succeeded. */
  #fillError: unknown;
  #isClosed = false;
  #owner: (() => void) | undefined;

  constructor(name: string, folder: Folder, lock: SyncHandle, spare: number) {
    this.name = name;
    this.#folder = folder;
    this.#lock = lock;
    this.#spare = spare;
  }

  /** Opens the existing files, and creates missing spare files. */
  async openFiles(): Promise<void> {
    for await (const file of this.#folder.keys()) {
      const number = Number(FILE.exec(file)?.[1] ?? 0);
      if (number === 0) continue;
      this.#next = Math.max(this.#next, number + 1);
      this.#files.push(new PoolFile(await retryOpen(() => handleOf(this.#folder, file), this.name)));
    }
    await this.#fill().catch((error) => {
      // On a full disk, existing files can still be read.
      if (this.#files.length === 0) throw error;
    });
  }

  list(): string[] {
    return this.#files.flatMap((file) => file.name ?? []);
  }

  open(name: string, create: boolean): StorageFile {
    this.#check();
    let file = this.#files.find((poolFile) => poolFile.name === name);
    if (file === undefined) {
      if (!create) throw Object.assign(new Error("there is no such file"), { code: "ENOENT" });
      file = this.#files.find((poolFile) => poolFile.name === undefined);
      if (file === undefined) {
        void this.#fill().catch(() => {});
        throw (
          this.#fillError ??
          new Error("no spare file is left. Await a promise in the worker, so that opfs can create files, or pass a larger `spare` to opfs()")
        );
      }
      file.take(name);
      // The new spare files are created when the worker next awaits something.
      void this.#fill().catch(() => {});
    }
    return file.open();
  }

  remove(name: string): void {
    this.#check();
    this.#files.find((poolFile) => poolFile.name === name)?.release();
  }

  lock(onTakeover: () => void): () => void {
    this.#check();
    this.#owner?.();
    this.#owner = onTakeover;
    return () => {
      if (this.#owner === onTakeover) this.#owner = undefined;
    };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#owner?.();
    this.#isClosed = true;
    for (const file of this.#files) file.close();
    this.#lock.close();
    directories.delete(this.name);
  }

  #check(): void {
    if (this.#isClosed) throw new ReplayError("CLOSED", `${this.name} was closed`);
  }

  /** Creates files until there are enough spare files. */
  async #fill(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (!this.#isClosed && this.#files.filter((poolFile) => poolFile.name === undefined).length < this.#spare) {
        const handle = await handleOf(this.#folder, `file-${this.#next++}`);
        if (this.#isClosed) handle.close();
        else this.#files.push(new PoolFile(handle));
      }
      this.#fillError = undefined;
    } catch (error) {
      this.#fillError = error;
      throw error;
    } finally {
      this.#isFilling = false;
    }
  }
}

async function handleOf(folder: Folder, name: string): Promise<SyncHandle> {
  const file = await folder.getFileHandle(name, { create: true });
  if (file.createSyncAccessHandle === undefined)
    throw new ReplayError("UNSUPPORTED", "only a dedicated worker can open files. Call opfs() in a dedicated worker");
  return file.createSyncAccessHandle();
}

/** Opens a file. Retries for a while if another worker or page still has the file open. @throws ReplayError LOCKED after `TRIES` attempts */
async function retryOpen(open: () => Promise<SyncHandle>, name: string): Promise<SyncHandle> {
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if ((error as { name?: string }).name !== "NoModificationAllowedError") throw error;
      if (tries === TRIES) throw new ReplayError("LOCKED", `${name} is open in another worker or page. Close it there first`);
    }
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
  }
}
