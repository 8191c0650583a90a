/** Defines the sources of files. A file has a name and bytes that are read in pieces, and a folder contains files. */
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";

/** A file of a source, whose bytes can be read in any order. */
export interface SourceFile {
  /** The name of the file in messages. */
  readonly name: string;
  readonly size: number;
  /** Reads exactly `length` bytes, as a new array or as a view that remains valid. @throws RldsError CORRUPT if the file ends earlier */
  read(at: number, length: number): Promise<Uint8Array>;
  /** Reads synchronously. Present for files in the file system, for bytes in memory, and for Blobs in a worker. Otherwise absent. */
  readonly readNow?: (at: number, length: number) => Uint8Array;
  close(): Promise<void>;
}

/** The options for opening a file. */
export interface OpenOptions {
  /** Whether another program may be appending to the file. If so, growth does not mean that the file was replaced. */
  readonly grows?: boolean;
}

export interface SourceFolder {
  readonly name: string;
  /**
   * Opens a file.
   * @param path a path with slashes, checked by `checkInside`
   * @throws RldsError NOT_FOUND if the file does not exist
   */
  open(path: string, options?: OpenOptions): Promise<SourceFile>;
  /** Reads a piece of a file synchronously. Absent if the folder cannot read synchronously. @throws RldsError if the piece cannot be read */
  readonly readNow?: (path: string, at: number, length: number) => Uint8Array;
  /** Returns the sorted paths of all files in the folder. Returns undefined if the folder cannot be listed, as with a URL. */
  list(): Promise<readonly string[] | undefined>;
}

/** A file or a folder. */
export type SourceTarget = { readonly file: SourceFile; readonly folder?: undefined } | { readonly folder: SourceFolder; readonly file?: undefined };

/** Sorts paths. Numbers in them are compared by value, so `part-9` comes before `part-10`. */
export function sortPaths(paths: readonly string[]): string[] {
  const parts = paths.map((path) => ({ path, words: path.split(/(\d+)/) }));
  return parts.sort((a, b) => compareWords(a.words, b.words) || order(a.path, b.path)).map(({ path }) => path);
}

/** Compares paths that are split into alternating texts and digits. */
function compareWords(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i], b[i]] as [string, string];
    const difference = i % 2 === 1 ? digits(left).length - digits(right).length || order(digits(left), digits(right)) : order(left, right);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const digits = (text: string) => text.replace(/^0+/, "");
const order = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);

/**
 * Returns the path unchanged if it stays inside its folder.
 * @throws RldsError CORRUPT if the path is absolute or contains `..`, a backslash, a NUL, or a drive letter at the beginning of a part
 */
export function checkInside(path: string, file: string): string {
  const parts = path.split("/");
  if (path === "" || parts.some((part) => part === "" || part === "." || part === ".." || /[\\\0]|^[a-z]:/i.test(part)))
    throw corruptFile({ file }, `${file} refers to ${JSON.stringify(path)}, which is not a file inside the dataset's folder`);
  return path;
}

/** Opens a file, or returns undefined if the file does not exist. @throws any other error, because the file may exist nevertheless */
export async function openIfExists(folder: SourceFolder, path: string, options?: OpenOptions): Promise<SourceFile | undefined> {
  try {
    return await folder.open(path, options);
  } catch (error) {
    if ((error as Partial<RldsError>).code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** Returns whether a text is a URL instead of a path. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(text);
}
