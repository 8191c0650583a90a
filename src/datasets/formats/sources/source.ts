/** Where files come from: named bytes that are read piece by piece, and folders of them. */
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";

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

/** How a file is opened. */
export interface OpenOptions {
  /** Whether somebody may be writing more behind the bytes that are there: then a file that has grown is not another one. */
  readonly grows?: boolean;
}

export interface SourceFolder {
  readonly name: string;
  /** @param path with slashes, checked by `checkInside` @throws RldsError NOT_FOUND */
  open(path: string, options?: OpenOptions): Promise<SourceFile>;
  /** A piece of a file without waiting, where that can be. @throws RldsError */
  readonly readNow?: (path: string, at: number, length: number) => Uint8Array;
  /** The paths of all files in it, sorted; undefined where nobody can tell (a URL). */
  list(): Promise<readonly string[] | undefined>;
}

/** What a reader may be given: a file, or a folder. */
export type SourceTarget = { readonly file: SourceFile; readonly folder?: undefined } | { readonly folder: SourceFolder; readonly file?: undefined };

/** Paths in the order of the numbers in them: `part-9` is before `part-10`. */
export function sortPaths(paths: readonly string[]): string[] {
  const parts = paths.map((path) => ({ path, words: path.split(/(\d+)/) }));
  return parts.sort((a, b) => compareWords(a.words, b.words) || order(a.path, b.path)).map(({ path }) => path);
}

/** Texts and digits by turns. */
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

/** A path that stays in its folder, as it is. @throws RldsError CORRUPT for an absolute path, `..`, backslashes, drive letters at the beginning of a part, or a NUL: a file names no place outside */
export function checkInside(path: string, file: string): string {
  const parts = path.split("/");
  if (path === "" || parts.some((part) => part === "" || part === "." || part === ".." || /[\\\0]|^[a-z]:/i.test(part)))
    throw corruptFile({ file }, `${file} names ${JSON.stringify(path)}, which is no file inside the dataset's folder`);
  return path;
}

/** A file that may be missing: whatever else keeps it from being read is no end of a list. */
export async function openIfExists(folder: SourceFolder, path: string, options?: OpenOptions): Promise<SourceFile | undefined> {
  try {
    return await folder.open(path, options);
  } catch (error) {
    if ((error as Partial<RldsError>).code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** Whether a text is a URL, and no path. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(text);
}
