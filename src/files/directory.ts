import { ReplayError } from "../base/error.ts";

/** A place for files, as a log needs it: every call is done when it returns. What fails throws the error of the runtime. */
export interface Directory {
  /** As messages call it. */
  readonly name: string;
  /** Where it is, whatever the process does: two of the same path are one. Where there are no paths it is not there. */
  readonly path?: string;
  /** Whether each file costs so much, open or not, that thousands of them have no place here. */
  readonly fewFiles?: boolean;
  /** Names of the files, in any order. */
  list(): string[];
  /** @throws where `create` is false and there is no such file */
  open(name: string, create: boolean): StorageFile;
  remove(name: string): void;
  /** Gives a file another name, in the place of the file that has it; on the disk, too, when it returns. Where files can have no other name it is not there. */
  rename?(name: string, to: string): void;
  /**
   * Takes the directory for one owner; the function that it gives lets go of it. The owner before, in this process, is told by its `onTakeover` first.
   * @param takeOver whether also from an owner of whom nobody can tell whether it still runs
   * @throws ReplayError LOCKED where another process has it
   */
  lock(onTakeover: () => void, takeOver?: boolean): () => void;
  /** Resolves when all that was synced is safe, where the platform confirms that later: until then nothing that tells of it leaves the program. */
  confirm?(): Promise<void>;
  /** Asked by its owner before each write. @throws where it is no more what it was, or another owner took it over */
  check?(): void;
}

export interface StorageFile {
  readonly size: number;
  /** How many bytes were read: fewer than asked at the end, and wherever the system likes. */
  read(into: Uint8Array, at: number): number;
  /** How many bytes were written, likewise. */
  write(from: Uint8Array, at: number): number;
  truncate(bytes: number): void;
  /** Everything written is on the disk when it returns, the name of a new file too. */
  sync(): void;
  close(): void;
}

/** What a directory knows of a file that is open. */
export interface OpenFile extends Omit<StorageFile, "size" | "close"> {
  size(): number;
  close?(): void;
}

/** A file whose calls are refused once it was closed. */
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
