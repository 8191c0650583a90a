import { ReplayError } from "../base/error.ts";

/** A place for files, as a log requires it. Every call is complete when it returns. A call that fails throws the error of the runtime. */
export interface Directory {
  /** The name of the directory in messages. */
  readonly name: string;
  /** The absolute path; directories with the same path are the same. Undefined if there are no paths. */
  readonly path?: string;
  /** Whether each file is so expensive, open or not, that thousands of files are too many. */
  readonly fewFiles?: boolean;
  /** Returns the names of the files, in any order. */
  list(): string[];
  /** @throws if `create` is false and the file does not exist */
  open(name: string, create: boolean): StorageFile;
  remove(name: string): void;
  /** Renames a file, and replaces an existing file of the new name. The change is on the disk when it returns. Undefined if files cannot be renamed. */
  rename?(name: string, to: string): void;
  /**
   * Takes the directory for one owner. Returns a function that releases it. `onTakeover` of the previous owner in this process is called first.
   * @param takeOver whether to take it even from an owner whose state is unknown
   * @throws ReplayError LOCKED if another process has it
   */
  lock(onTakeover: () => void, takeOver?: boolean): () => void;
  /** Resolves when everything synced is safe, if the platform confirms that later. Until then, no output that depends on it may leave the program. */
  confirm?(): Promise<void>;
  /** Called by the owner before each write. @throws if the directory has changed, or another owner took it over */
  check?(): void;
}

export interface StorageFile {
  readonly size: number;
  /** Returns the number of bytes read: fewer than requested at the end, or whenever the system returns fewer. */
  read(into: Uint8Array, at: number): number;
  /** Returns the number of bytes written, which may also be fewer. */
  write(from: Uint8Array, at: number): number;
  truncate(bytes: number): void;
  /** Everything written, including the name of a new file, is on the disk when it returns. */
  sync(): void;
  close(): void;
}

/** The implementation of an open file. */
export interface OpenFile extends Omit<StorageFile, "size" | "close"> {
  size(): number;
  close?(): void;
}

/** Returns a file whose calls throw after it was closed. */
export function closable(name: string, file: OpenFile): StorageFile {
  let isOpen = true;
  const open = (): OpenFile => {
    if (!isOpen) throw new ReplayError("CLOSED", `${name} was closed`);
    return file;
  };
  return {
    get size() {
      return open().size();
    },
    read: (into, at) => open().read(into, at),
    write: (from, at) => open().write(from, at),
    truncate: (bytes) => open().truncate(bytes),
    sync: () => open().sync(),
    close: () => {
      if (isOpen) file.close?.();
      isOpen = false;
    },
  };
}
