/** Opens any source that a reader accepts. */
import { mustBe } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { blobFile, filesFolder, mapFolder } from "./blob-source.ts";
import { type DirectorySource, directoryFolder, isDirectory } from "./directory-source.ts";
import { withoutPointers } from "./git-lfs.ts";
import { type FileHandleLike, type FolderHandleLike, handleFile, handleFolder } from "./handle-source.ts";
import { nodeSource } from "./node-source.ts";
import type { SourceFile, SourceFolder, SourceTarget } from "./source.ts";
import { urlFile, urlFolder } from "./url-source.ts";

/**
 * The source of a dataset, which is one of:
 * - a path of a file or folder (Node, Deno, Bun);
 * - a URL, or a string that begins with `http://`, `https://` or `file://`. A URL is a folder if it ends with a slash, or if its last name has no extension of
 * letters;
 * - a Blob or File, or the files of a folder that the user selected;
 * - a handle of the File System API;
 * - bytes and Blobs by path;
 * - a directory of `memory`, `opfs`, `sqlite` or `node` of reprise/storage;
 * - a SourceFile or SourceFolder, from `sourceOf` or for custom storage. Readers do not close a SourceFile that the caller passed.
 */
export type Source =
  | string
  | URL
  | Blob
  | readonly File[]
  | FileHandleLike
  | FolderHandleLike
  | ReadonlyMap<string, Uint8Array | Blob>
  | DirectorySource
  | SourceFile
  | SourceFolder;

export interface SourceOptions {
  readonly signal?: AbortSignal;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
  /** The maximum size, in bytes, of a file that is kept in memory because its server does not support ranges. Default: 1 GiB. */
  readonly maxBytes?: number;
}

const RULE =
  "a path, a URL, a Blob, an array of Files, a handle of a file or folder, a Map from paths to bytes, a directory of reprise/storage, or a SourceFile or SourceFolder";

/**
 * Returns the files of a source.
 * @throws TypeError if the value is not a source
 * @throws RldsError NOT_FOUND if the source does not exist
 * @throws RldsError UNSUPPORTED if the runtime cannot read the source, or if a file on a server without ranges exceeds maxBytes
 * @throws RldsError CORRUPT if the source is a Git LFS pointer
 * @throws RldsError IO if the source cannot be read
 */
export async function sourceOf(from: Source, options: SourceOptions = {}): Promise<SourceTarget> {
  return withoutPointers(await targetOf(from, options));
}

async function targetOf(from: Source, { signal, fetch, maxBytes = MAX_SOURCE_BYTES }: SourceOptions): Promise<SourceTarget> {
  signal?.throwIfAborted();
  const path = pathOf(from);
  if (path !== undefined) return nodeSource(path);
  if (typeof from === "string" || from instanceof URL) {
    const url = new URL(from);
    const options = { signal, fetch, maxBytes };
    return isFolder(url) ? { folder: urlFolder(url, options) } : { file: await urlFile(url, options) };
  }
  if (from instanceof Blob) return { file: blobFile((from as File).name ?? "a Blob", from) };
  if (Array.isArray(from) && from.every((part) => part instanceof Blob)) return { folder: filesFolder(from as unknown as readonly File[]) };
  if (typeof (from as ReadonlyMap<string, unknown> | undefined)?.get === "function")
    return { folder: mapFolder("the Map", from as ReadonlyMap<string, Uint8Array>) };
  if (isDirectory(from)) return { folder: directoryFolder(from) };
  const { read, open, list } = (from ?? {}) as Partial<SourceFile & SourceFolder>;
  if (typeof read === "function") return { file: borrowFile(from as SourceFile) };
  if (typeof open === "function" && typeof list === "function") return { folder: borrowFolder(from as SourceFolder) };
  const { kind } = (from ?? {}) as Partial<FileHandleLike | FolderHandleLike>;
  if (kind === "file") return { file: await handleFile(from as FileHandleLike) };
  if (kind === "directory") return { folder: handleFolder(from as FolderHandleLike) };
  throw mustBe(TypeError, "from", RULE, from);
}

/** Wraps a file that the caller created and will close itself. */
function borrowFile(file: SourceFile): SourceFile {
  const { readNow } = file;
  return {
    name: file.name,
    size: file.size,
    read: async (at, length) => plainBytes(await file.read(at, length)),
    ...(readNow && { readNow: (at: number, length: number) => plainBytes(readNow.call(file, at, length)) }),
    async close() {},
  };
}

/** Wraps a folder that the caller created. Readers close the files that they open. */
function borrowFolder(folder: SourceFolder): SourceFolder {
  const { readNow } = folder;
  return {
    name: folder.name,
    async open(path, options) {
      const file = await folder.open(path, options);
      return { ...borrowFile(file), close: () => file.close() };
    },
    ...(readNow && { readNow: (path: string, at: number, length: number) => plainBytes(readNow.call(folder, path, at, length)) }),
    list: () => folder.list(),
  };
}

/** Returns bytes as a plain array, whose slices are copies. A slice of Node's Buffer would be a view of shared memory. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the path of a source in the file system, or undefined for any other source. */
export function pathOf(from: Source): string | undefined {
  if (typeof from === "string" && !/^(https?|file):\/\//i.test(from)) return from;
  if (typeof from !== "string" && !(from instanceof URL)) return undefined;
  const url = new URL(from);
  return url.protocol === "file:" ? filePath(url) : undefined;
}

/** Returns the path or URL of a file with the same name but another extension. Returns undefined for other sources, which have no known neighbours. */
export function siblingOf(from: Source, ending: RegExp, other: string): Source | undefined {
  if (typeof from === "string" && pathOf(from) !== undefined) return ending.test(from) ? from.replace(ending, other) : undefined;
  if (typeof from !== "string" && !(from instanceof URL)) return undefined;
  const url = new URL(from);
  if (!ending.test(url.pathname)) return undefined;
  url.pathname = url.pathname.replace(ending, other);
  return url;
}

/** Returns whether a URL is a folder. For example, `1.0.0` and `data.zarr` are folders, and `data.parquet` is a file. */
function isFolder({ protocol, pathname }: URL): boolean {
  return protocol.startsWith("http") && (!/\.[a-z][a-z0-9]*$/i.test(pathname) || /\.zarr$/i.test(pathname));
}

function filePath({ pathname }: URL): string {
  const path = decodeURIComponent(pathname);
  // On Windows, the path begins with a slash and a drive letter.
  return /^\/[a-z]:/i.test(path) ? path.slice(1) : path;
}
