/**
 * Lists and opens the files that a server may send, which are a single file or the files of a folder. Links that lead out of the folder, links to folders,
 * hidden files, pipes, devices and names with a backslash or a drive letter are excluded.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { RldsError, type SourceFile, sourceOf } from "../../datasets/rlds/index.ts";
import { isServable } from "./request.ts";

export interface ServedFile {
  /** The path relative to the served folder, with slashes. */
  readonly path: string;
  readonly size: number;
}

/** The paths of links, folders and files that exist but are not served. Hidden files, pipes, devices and links to folders are not listed here. */
export interface Exclusions {
  /** Links that lead out of the folder, to a hidden file, or to a missing file. */
  readonly links: readonly string[];
  /** Subfolders that cannot be listed. */
  readonly unreadable: readonly string[];
  /** Files and folders whose names contain a backslash or a drive letter, which readers reject. */
  readonly names: readonly string[];
}

export interface Listing {
  readonly files: readonly ServedFile[];
  readonly exclusions: Exclusions;
}

export interface ServedFiles {
  /** The name of the file, if only one file is served. */
  readonly singleFile?: string;
  /** Returns the served files and the exclusions. Subfolders that cannot be listed are left out. @throws RldsError IO if the folder itself cannot be listed */
  list(): Promise<Listing>;
  /**
   * Opens a file.
   * @throws RldsError NOT_FOUND if the file does not exist or is not served
   * @throws RldsError CORRUPT if the file is a Git LFS pointer
   * @throws RldsError IO if the file cannot be opened
   */
  open(path: string): Promise<SourceFile>;
}

/** Returns the files to serve for a path, which may be a folder or a single file. @throws RldsError NOT_FOUND if the path does not exist */
export async function servedFiles(path: string): Promise<ServedFiles> {
  // The path that the user passed may be a link.
  const root = await realpath(path).catch((cause) => {
    throw new RldsError("NOT_FOUND", "there is no such file or folder", { file: path }, { cause });
  });
  if ((await stat(root)).isDirectory()) return { list: () => listFiles(root), open: (name) => openFile(root, name) };
  const fileName = basename(root);
  return {
    singleFile: fileName,
    list: async () => ({ files: [{ path: fileName, size: (await stat(root)).size }], exclusions: { links: [], unreadable: [], names: [] } }),
    async open(name) {
      if (name !== fileName) throw new RldsError("NOT_FOUND", "there is no such file", { file: name });
      return openFile(dirname(root), fileName);
    },
  };
}

async function openFile(top: string, name: string): Promise<SourceFile> {
  const target = await realpath(join(top, name)).catch((cause) => {
    throw new RldsError("NOT_FOUND", "there is no such file", { file: name }, { cause });
  });
  if (!isServedPath(top, target)) throw new RldsError("NOT_FOUND", "there is no such file", { file: name });
  const { file, folder } = await sourceOf(target);
  if (folder !== undefined) throw new RldsError("NOT_FOUND", "the path is a folder, not a file", { file: name });
  return file;
}

/** Returns whether a path without links lies in the folder and is not hidden. The caller must resolve links first, because a link may lead to a hidden file. */
function isServedPath(top: string, target: string): boolean {
  return isServable(relative(top, target).split(sep));
}

async function listFiles(top: string): Promise<Listing> {
  const files: ServedFile[] = [];
  const exclusions = { links: [] as string[], unreadable: [] as string[], names: [] as string[] };
  const pending: string[][] = [[]];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await entriesOf(top, folder, exclusions.unreadable)) {
      const path = [...folder, entry.name];
      const name = path.join("/");
      if (entry.name.startsWith(".")) continue;
      if (!isServable(path)) exclusions.names.push(name);
      else if (entry.isDirectory()) pending.push(path);
      else if (entry.isSymbolicLink()) {
        const target = await realpath(join(top, ...path)).catch(() => undefined);
        if (target === undefined || !isServedPath(top, target)) exclusions.links.push(name);
        else await addFile(name, target);
      } else if (entry.isFile()) await addFile(name, join(top, ...path));
    }
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), exclusions };

  async function addFile(path: string, target: string): Promise<void> {
    const info = await stat(target).catch(() => undefined);
    if (info?.isFile()) files.push({ path, size: info.size });
  }
}

/**
 * Returns the entries of a folder. If a subfolder cannot be listed, records its path and returns no entries. @throws RldsError IO if the served folder itself
 * cannot be listed
 */
async function entriesOf(top: string, folder: readonly string[], unreadable: string[]): Promise<Dirent[]> {
  try {
    return await readdir(join(top, ...folder), { withFileTypes: true });
  } catch (cause) {
    if (folder.length === 0) throw new RldsError("IO", `the folder cannot be listed: ${(cause as Error).message}`, { file: top }, { cause });
    unreadable.push(folder.join("/"));
    return [];
  }
}
