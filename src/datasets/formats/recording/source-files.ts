/** Opens the segments in a folder of any source on demand. */

import type { LogFiles } from "../../../storage/log/file-sizes.ts";
import { fileOf, segmentOf } from "../../../storage/log/segment-head.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { openIfExists, type SourceFile, type SourceFolder } from "../sources/source.ts";

/** The maximum number of segment names that are tried if a folder cannot be listed. */
const MAX_SEGMENTS = 1_000_000;

export class SourceFiles implements LogFiles {
  readonly #folder: SourceFolder;
  /** The path of the segments in the folder, with a trailing slash. */
  readonly #prefix: string;
  readonly #isListed: boolean;
  /** The sizes that were found while trying names. Only the sizes of the newest two segments may change and are requested again. */
  readonly #sizes = new Map<string, number>();

  /** @throws RldsError NOT_FOUND if there are no segments · UNSUPPORTED if several folders have segments */
  static async of(folder: SourceFolder): Promise<{ readonly files: SourceFiles; readonly prefix: string }> {
    const paths = await folder.list();
    if (paths === undefined) return { files: new SourceFiles(folder, "", false), prefix: "" };
    const segments = paths.filter((path) => segmentOf(path.slice(path.lastIndexOf("/") + 1)) > 0);
    const [prefix, ...more] = new Set(segments.map((path) => path.slice(0, path.lastIndexOf("/") + 1)));
    if (prefix === undefined) throw noSegmentsError(folder.name);
    if (more.length > 0)
      throw unsupportedFile({ file: folder.name }, `the folder has ${more.length + 1} recordings. Pass one of ${[prefix, ...more].slice(0, 4).join(", ")}`);
    return { files: new SourceFiles(folder, prefix, true), prefix };
  }

  private constructor(folder: SourceFolder, prefix: string, isListed: boolean) {
    this.#folder = folder;
    this.#prefix = prefix;
    this.#isListed = isListed;
  }

  async list(): Promise<readonly string[]> {
    if (!this.#isListed) return this.#try();
    const paths = (await this.#folder.list()) ?? [];
    return paths.filter((path) => path.startsWith(this.#prefix)).map((path) => path.slice(this.#prefix.length));
  }

  async size(name: string): Promise<number | undefined> {
    const size = this.#sizes.get(name);
    if (size !== undefined && this.#sizes.has(fileOf(segmentOf(name) + 2))) return size;
    return this.#fetchSize(name);
  }

  async read(name: string, at: number, length: number): Promise<Uint8Array> {
    const file = await this.#open(name);
    if (file === undefined) return new Uint8Array(0);
    try {
      return await file.read(at, Math.max(0, Math.min(length, file.size - at)));
    } finally {
      await file.close();
    }
  }

  /** Finds segments by trying their numbers, because the folder cannot be listed. */
  async #try(): Promise<readonly string[]> {
    this.#sizes.clear();
    for (let segment = 1; segment <= MAX_SEGMENTS; segment++) {
      const size = await this.#fetchSize(fileOf(segment));
      if (size === undefined) {
        if (segment === 1) throw noSegmentsError(this.#folder.name);
        return [...this.#sizes.keys()];
      }
      this.#sizes.set(fileOf(segment), size);
    }
    throw unsupportedFile({ file: this.#folder.name }, `the recording has more than ${MAX_SEGMENTS} segments`);
  }

  async #fetchSize(name: string): Promise<number | undefined> {
    const file = await this.#open(name);
    await file?.close();
    return file?.size;
  }

  #open(name: string): Promise<SourceFile | undefined> {
    return openIfExists(this.#folder, this.#prefix + name, { grows: true });
  }
}

function noSegmentsError(file: string): RldsError {
  return new RldsError("NOT_FOUND", "the folder has no recording: the file 00000001.rpr is missing", { file });
}
