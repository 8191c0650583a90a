import { ReplayError } from "../base/error.ts";

/**
 * A place for the files of a log. Every call except `confirm` completes before it returns. A call that fails throws the runtime's error, unless its own
 * description says otherwise.
 */
export interface Directory {
  /** The name of the directory in messages. */
  readonly name: string;
  /** The absolute path. Objects with the same path represent the same directory. Undefined if the storage has no paths. */
  readonly path?: string;
  /** Whether each file uses resources even while it is closed, so that thousands of files are too many. */
  readonly fewFiles?: boolean;
  /** Returns the names of the files, in any order. */
  list(): string[];
  /** Opens a file, and creates it if `create` is true. @throws the error of the runtime if `create` is false and the file does not exist */
  open(name: string, create: boolean): StorageFile;
  remove(name: string): void;
  /** Renames a file, and replaces an existing file with the new name. The change is on the disk when the call returns. Undefined if files cannot be renamed. */
  rename?(name: string, to: string): void;
  /**
   * Locks the directory for one owner. Returns a function that releases the lock. First calls `onTakeover` of the previous owner in this process.
   * @param takeOver whether to take the directory from an owner whose state Reprise cannot detect. Default: false
   * @throws ReplayError LOCKED if another process or thread owns the directory
   */
  lock(onTakeover: () => void, takeOver?: boolean): () => void;
  /** Resolves when the platform has confirmed that all synced data is safe. Until then, no output that depends on the synced data may leave the program. */
  confirm?(): Promise<void>;
  /** Checks the directory. The owner calls this method before each write. @throws an error if the directory has changed, or if another owner took it over */
  check?(): void;
}

export interface StorageFile {
  readonly size: number;
  /**
   * Reads bytes and returns the number of bytes read. The number may be less than requested, at the end of the file or whenever the system returns fewer bytes.
   */
  read(into: Uint8Array, at: number): number;
  /** Writes bytes and returns the number of bytes written, which may be less than requested. */
  write(from: Uint8Array, at: number): number;
  truncate(bytes: number): void;
  /** Syncs the file. Everything written, including the name of a new file, is on the disk when the call returns. */
  sync(): void;
  close(): void;
}

/** The implementation of an open file. */
export interface OpenFile extends Omit<StorageFile, "size" | "close"> {
  size(): number;
  close?(): void;
}

/** Returns a file whose calls throw after the file was closed. */
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
