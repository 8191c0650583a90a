/** Presents a folder of any source as a directory for readers of logs. Data that cannot be read synchronously is fetched before it is read. */

import { closable, type Directory, type StorageFile } from "../../../files/directory.ts";
import { readSizes, type SegmentSizes } from "../../../storage/log/file-sizes.ts";
import { fileOf } from "../../../storage/log/segment-head.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import type { ReadNow } from "./lazy-frames.ts";
import type { RecordingFolder } from "./recording-folder.ts";
import { SourceFiles } from "./source-files.ts";

/** Thrown when a read needs bytes that are not available yet. */
class Missing extends Error {
  readonly file: string;
  readonly at: number;
  readonly length: number;

  constructor(file: string, at: number, length: number) {
    super(`${file} is not read yet`);
    this.file = file;
    this.at = at;
    this.length = length;
  }
}

/** A block of bytes that was fetched from a file. */
interface FetchedBlock {
  readonly at: number;
  readonly bytes: Uint8Array;
}

export class SourceDirectory implements Directory, RecordingFolder {
  readonly name: string;
  readonly #folder: SourceFolder;
  /** The path of the segments in the folder, with a trailing slash. */
  readonly #prefix: string;
  readonly #maxBytes: number;
  /** The sizes at one moment, because the owner may still be writing. */
  readonly #sizes: SegmentSizes;
  readonly #open = new Map<string, SourceFile>();
  readonly #fetched = new Map<string, FetchedBlock>();

  /**
   * Finds the segments in a folder and reads their sizes.
   * @throws RldsError NOT_FOUND if there are no segments · UNSUPPORTED if several folders have segments · ReplayError LOCKED if the owner writes constantly
   */
  static async of(folder: SourceFolder, maxBytes: number, signal?: AbortSignal): Promise<SourceDirectory> {
    const { files, prefix } = await SourceFiles.of(folder);
    return new SourceDirectory(folder, prefix, maxBytes, await readSizes(files, signal));
  }

  private constructor(folder: SourceFolder, prefix: string, maxBytes: number, sizes: SegmentSizes) {
    this.#sizes = sizes;
    this.name = prefix === "" ? folder.name : `${folder.name}/${prefix.slice(0, -1)}`;
    this.#folder = folder;
    this.#prefix = prefix;
    this.#maxBytes = maxBytes;
  }

  get directory(): Directory {
    return this;
  }

  get readNow(): ReadNow | undefined {
    const folder = this.#folder;
    return folder.readNow && ((name, at, length) => (folder.readNow as ReadNow)(this.#prefix + name, at, length));
  }

  fork(): SourceDirectory {
    return new SourceDirectory(this.#folder, this.#prefix, this.#maxBytes, this.#sizes);
  }

  list(): string[] {
    return [...this.#sizes.keys()];
  }

  open(name: string): StorageFile {
    const size = this.#sizes.get(name);
    if (size === undefined) throw Object.assign(new Error("there is no such file"), { code: "ENOENT" });
    const readOnly = () => {
      throw unsupportedFile({ file: name }, "the recording was opened only for reading");
    };
    return closable(name, {
      size: () => size,
      read: (into, at) => this.#read(name, into, at, size),
      write: readOnly,
      truncate: readOnly,
      sync: readOnly,
    });
  }

  remove(name: string): void {
    throw unsupportedFile({ file: name }, "the recording was opened only for reading");
  }

  lock(): () => void {
    return () => {};
  }

  async retryRead<T>(read: () => T): Promise<T> {
    for (;;) {
      try {
        return read();
      } catch (error) {
        const { cause } = error as { cause?: unknown };
        if (!(cause instanceof Missing)) throw error;
        await this.#fetch(cause.file, cause.at, cause.length);
      }
    }
  }

  async ready(segment: number): Promise<void> {
    const name = fileOf(segment);
    await this.#fetch(name, 0, this.#sizes.get(name) ?? 0);
  }

  async bytes(name: string, maxBytes: number): Promise<Uint8Array> {
    const file = await this.#folder.open(this.#prefix + name);
    try {
      if (file.size > maxBytes) throw corruptFile({ file: name }, `the file has ${file.size} bytes, more than the maximum of ${maxBytes}`);
      return await file.read(0, file.size);
    } finally {
      await file.close();
    }
  }

  async release(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#fetched.clear();
    for (const file of open) await file.close();
  }

  #read(name: string, into: Uint8Array, at: number, size: number): number {
    const length = Math.min(into.length, Math.max(0, size - at));
    if (length === 0) return 0;
    const file = this.#open.get(name);
    if (file?.readNow !== undefined) {
      into.set(file.readNow(at, length));
      return length;
    }
    const fetched = this.#fetched.get(name);
    const from = at - (fetched?.at ?? 0);
    if (fetched === undefined || from < 0 || from + length > fetched.bytes.length) throw new Missing(name, at, length);
    into.set(fetched.bytes.subarray(from, from + length));
    return length;
  }

  /** Opens a file. If the file cannot be read synchronously, fetches bytes that replace the previously fetched bytes. */
  async #fetch(name: string, at: number, length: number): Promise<void> {
    let file = this.#open.get(name);
    if (file === undefined) {
      file = await this.#folder.open(this.#prefix + name, { grows: true });
      this.#open.set(name, file);
    }
    if (file.readNow !== undefined) return;
    const previous = this.#fetched.get(name);
    // A repeated call first reads the bytes that were already fetched, so these bytes are included.
    const from = Math.min(at, previous?.at ?? at);
    const to = Math.max(at + length, previous === undefined ? 0 : previous.at + previous.bytes.length);
    if (to - from > this.#maxBytes)
      throw corruptFile(
        { file: name },
        `${to - from} bytes would be in memory at the same time, more than the ${this.#maxBytes} that maxBytes allows. Increase maxBytes`,
      );
    this.#fetched.set(name, { at: from, bytes: await file.read(from, to - from) });
  }
}
