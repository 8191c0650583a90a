/** Where files come from: named bytes that are read piece by piece, and folders of them. */
import { RldsError } from "../rlds/rlds-error.ts";

/** Bytes that can be read anywhere. */
export interface SourceFile {
  /** As messages call it. */
  readonly name: string;
  readonly size: number;
  /** Exactly so many bytes, in an array of their own or a view that stays as it is. @throws RldsError CORRUPT where the file ends before */
  read(at: number, length: number): Promise<Uint8Array>;
  /** The same without waiting, where that can be: files of the system, bytes in memory, Blobs in a worker. */
  readonly readNow?: (at: number, length: number) => Uint8Array;
  close(): Promise<void>;
}

export interface SourceFolder {
  readonly name: string;
  /** @param path with slashes, checked by `inside` @throws RldsError NOT_FOUND */
  open(path: string): Promise<SourceFile>;
  /** The paths of all files in it, sorted; undefined where nobody can tell (a URL). */
  list(): Promise<readonly string[] | undefined>;
}

/** What a reader may be given: a file, or a folder. */
export type FoundSource = { readonly file: SourceFile; readonly folder?: undefined } | { readonly folder: SourceFolder; readonly file?: undefined };

/** A path that stays in its folder, as it is. @throws RldsError CORRUPT for an absolute path, `..`, backslashes, drive letters or a NUL: a file names no place outside */
export function inside(path: string, named: string): string {
  const parts = path.split("/");
  if (path === "" || parts.some((part) => part === "" || part === "." || part === "..") || /[\\\0:]/.test(path))
    throw new RldsError("CORRUPT", `${named} names ${JSON.stringify(path)}, which is no file inside the dataset's folder`, { file: named });
  return path;
}
