/**
 * Lists and opens the files that a server may send, which are the files of a folder or a single file. Links that lead out of the folder, hidden files, pipes
 * and devices are excluded.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { RldsError, type SourceFile, sourceOf } from "../../datasets/rlds/index.ts";
import { isServable } from "./request.ts";

export interface ServedFile {
  /** The path, with slashes. */
  readonly path: string;
  readonly size: number;
}

/** The paths of files and folders that exist but are not served. Hidden files are not listed. */
export interface Exclusions {
  /** Links that lead out of the folder, or to a missing file. */
  readonly links: readonly string[];
  /** Folders and files that may not be read. */
  readonly unreadable: readonly string[];
  /** Names that readers reject, such as those with a backslash. */
  readonly names: readonly string[];
}

export interface Listing {
  readonly files: readonly ServedFile[];
  readonly exclusions: Exclusions;
}

export interface ServedFiles {
  /** The name of the file, if only one file is served. */
  readonly singleFile?: string;
  /** @throws RldsError IO if the folder cannot be listed. Subfolders that cannot be listed are left out */
  list(): Promise<Listing>;
  /** @throws RldsError NOT_FOUND, CORRUPT, IO */
  open(path: string): Promise<SourceFile>;
}

/** @throws RldsError NOT_FOUND */
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

/** Returns whether a real path is in the folder and not hidden. Links must be resolved first, because a link may lead to a hidden file. */
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

/** Returns the entries of a folder. If the folder cannot be listed, records its path and returns no entries. */
async function entriesOf(top: string, folder: readonly string[], unreadable: string[]): Promise<Dirent[]> {
  try {
    return await readdir(join(top, ...folder), { withFileTypes: true });
  } catch (cause) {
    if (folder.length === 0) throw new RldsError("IO", `the folder cannot be listed: ${(cause as Error).message}`, { file: top }, { cause });
    unreadable.push(folder.join("/"));
    return [];
  }
}
