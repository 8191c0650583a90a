/** Where a recording is read from: a directory whose reads may have to be fetched first. */

import type { Directory, StorageFile } from "../../../files/directory.ts";
import { withIoErrors } from "../../../files/io-errors.ts";
import { flushLogs } from "../../../storage/log/open-logs.ts";
import { ReadOnlyDirectory } from "../../../storage/log/read-only-directory.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { ReadNow } from "./lazy-frames.ts";

export interface RecordingFolder {
  readonly directory: Directory;
  /** What a function gives that reads: it is called again whenever something had to be fetched, and may not change anything. */
  retryRead<T>(read: () => T): Promise<T>;
  /** Has all of a segment ready to be read. */
  ready(segment: number): Promise<void>;
  /** Another file. @throws RldsError NOT_FOUND, CORRUPT for one of more than `maxBytes` */
  bytes(name: string, maxBytes: number): Promise<Uint8Array>;
  /** A piece of any file without waiting, where that can be. @throws RldsError */
  readonly readNow: ReadNow | undefined;
  /** Lets go of what is open. */
  release(): Promise<void>;
  /** Another reader's: what one has ready, and lets go, is its own. */
  fork(): RecordingFolder;
}

/** A directory of reprise/storage, which may be written to by this process. */
export class DirectoryFolder implements RecordingFolder {
  /** Its segments as they were at one moment. */
  readonly directory: Directory;
  readonly #below: Directory;

  /** @throws ReplayError LOCKED where its owner writes all the time · IO */
  constructor(directory: Directory) {
    flushLogs(directory);
    this.#below = directory;
    // A recorder removes no segment.
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
      if (size > maxBytes) throw corruptFile({ file: name }, `the file has ${size} bytes where at most ${maxBytes} can be`);
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
      // A listing may be long: it is looked at where something is wrong alone.
      if (this.#below.list().includes(name)) throw error;
      throw new RldsError("NOT_FOUND", "there is no such file", { file: `${this.directory.name}/${name}` }, { cause: error });
    }
  }
}
