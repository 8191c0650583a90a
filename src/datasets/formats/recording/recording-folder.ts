/** Defines the interface to the folder of a recording, whose data may have to be fetched before it can be read. */

import type { Directory, StorageFile } from "../../../files/directory.ts";
import { withIoErrors } from "../../../files/io-errors.ts";
import { flushLogs } from "../../../storage/log/open-logs.ts";
import { ReadOnlyDirectory } from "../../../storage/log/read-only-directory.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { ReadNow } from "./lazy-frames.ts";

export interface RecordingFolder {
  readonly directory: Directory;
  /** Calls a function that reads synchronously. The call is repeated whenever data had to be fetched, so the function must not have side effects. */
  retryRead<T>(read: () => T): Promise<T>;
  /** Prepares a whole segment for reading. */
  ready(segment: number): Promise<void>;
  /** Reads a file that is not a segment. @throws RldsError NOT_FOUND · CORRUPT if the file is larger than `maxBytes` */
  bytes(name: string, maxBytes: number): Promise<Uint8Array>;
  /** Reads a piece of any file synchronously. Undefined if synchronous reads are not possible. @throws RldsError */
  readonly readNow: ReadNow | undefined;
  /** Closes the open files. */
  release(): Promise<void>;
  /** Returns a folder for another reader, with separate open files. */
  fork(): RecordingFolder;
}

/** A directory of reprise/storage, to which this process may be writing. */
export class DirectoryFolder implements RecordingFolder {
  /** A view of the segments at one moment. */
  readonly directory: Directory;
  readonly #below: Directory;

  /** @throws ReplayError LOCKED if the owner writes constantly · IO */
  constructor(directory: Directory) {
    flushLogs(directory);
    this.#below = directory;
    // Segments can be opened lazily, because a recorder never removes any.
    this.directory = new ReadOnlyDirectory(directory, { isLazy: true });
  }

  async retryRead<T>(read: () => T): Promise<T> {
    return read();
  }

  async ready(): Promise<void> {}

  async bytes(name: string, maxBytes: number): Promise<Uint8Array> {
    const file = this.#open(name);
    try {
      const { size } = file;
      if (size > maxBytes) throw corruptFile({ file: name }, `the file has ${size} bytes, more than the maximum of ${maxBytes}`);
      const bytes = new Uint8Array(size);
      for (let done = 0; done < size; ) {
        const readBytes = withIoErrors("reading", this.#below, name, () => file.read(bytes.subarray(done), done));
        if (!(readBytes > 0)) throw corruptFile({ file: name, offset: done }, `the file ends ${size - done} bytes too early`);
        done += readBytes;
      }
      return bytes;
    } finally {
      file.close();
    }
  }

  readonly readNow: ReadNow = (name, at, length) => {
    const file = this.#open(name);
    try {
      const bytes = new Uint8Array(length);
      for (let done = 0; done < length; ) {
        const read = withIoErrors("reading", this.#below, name, () => file.read(bytes.subarray(done), at + done));
        if (!(read > 0)) throw corruptFile({ file: name, offset: at + done }, `the file ends ${length - done} bytes too early`);
        done += read;
      }
      return bytes;
    } finally {
      file.close();
    }
  };

  async release(): Promise<void> {}

  fork(): DirectoryFolder {
    return this;
  }

  #open(name: string): StorageFile {
    try {
      return withIoErrors("opening", this.#below, name, () => this.#below.open(name, false));
    } catch (error) {
      // The directory may contain many files, so it is listed only after an error.
      if (this.#below.list().includes(name)) throw error;
      throw new RldsError("NOT_FOUND", "there is no such file", { file: `${this.directory.name}/${name}` }, { cause: error });
    }
  }
}
