/** Copies the segments of a folder into memory, so a Replay can read them synchronously. Used for sources that are not folders in the file system. */

import { type Directory, memory } from "../../../storage/index.ts";
import type { LogFiles, SegmentSizes } from "../../../storage/log/file-sizes.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import { openIfExists, type SourceFolder } from "../sources/source.ts";

export class FileCopies implements LogFiles {
  readonly #folder: SourceFolder;
  /** The path of the segments in the folder, with a trailing slash. */
  readonly #prefix: string;
  readonly #maxBytes: number;
  readonly #copies = new Map<string, Uint8Array>();

  constructor(folder: SourceFolder, below: string, maxBytes: number) {
    this.#folder = folder;
    this.#prefix = below === "" ? "" : `${below}/`;
    this.#maxBytes = maxBytes;
  }

  async list(): Promise<readonly string[]> {
    const paths = (await this.#folder.list()) ?? [];
    return paths.filter((path) => path.startsWith(this.#prefix)).map((path) => path.slice(this.#prefix.length));
  }

  /** Reads a file again and returns its size. A file that was removed keeps its last content. */
  async size(name: string): Promise<number | undefined> {
    const file = await openIfExists(this.#folder, this.#prefix + name);
    if (file === undefined) return this.#copies.get(name)?.length;
    try {
      const otherBytes = [...this.#copies].reduce((sum, [path, { length }]) => sum + (path === name ? 0 : length), 0);
      if (otherBytes + file.size > this.#maxBytes)
        throw unsupportedFile(
          { file: this.#folder.name },
          `a journal is read from memory in this runtime, and its files take more than the ${this.#maxBytes} bytes that maxBytes allows. Increase maxBytes`,
        );
      this.#copies.set(name, await file.read(0, file.size));
      return file.size;
    } finally {
      await file.close();
    }
  }

  read(name: string, at: number, length: number): Uint8Array {
    return (this.#copies.get(name) as Uint8Array).subarray(at, at + length);
  }

  /** Returns a directory with the copies, cut to the sizes that the files had at one moment. */
  at(sizes: SegmentSizes): Directory {
    for (const name of this.#copies.keys()) if (!sizes.has(name)) this.#copies.delete(name);
    return memory({ name: this.#folder.name, files: [...sizes].map(([name, size]) => [name, (this.#copies.get(name) as Uint8Array).subarray(0, size)]) });
  }
}
