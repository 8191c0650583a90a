/** The files of a folder, or a file alone, as a server may give them: nothing that a link leads out of it to, nothing hidden, no pipes and devices. */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { RldsError, type SourceFile, sourceOf } from "../../datasets/rlds/index.ts";
import { isServable } from "./request.ts";

export interface ServedFile {
  /** With slashes. */
  readonly path: string;
  readonly size: number;
}

/** Paths of what is there, and not served; hidden files are not told of. */
export interface LeftOut {
  /** Links that lead out of the folder, or nowhere. */
  readonly links: readonly string[];
  /** Folders and files that may not be read. */
  readonly unreadable: readonly string[];
  /** Names that readers do not take, such as those with a backslash. */
  readonly names: readonly string[];
}

export interface Listing {
  readonly files: readonly ServedFile[];
  readonly leftOut: LeftOut;
}

export interface ServedFiles {
  /** The name of the file, where it is one alone. */
  readonly only?: string;
  /** @throws RldsError IO where nothing can be listed; a folder in it that cannot is left out */
  list(): Promise<Listing>;
  /** @throws RldsError NOT_FOUND, CORRUPT, IO */
  open(path: string): Promise<SourceFile>;
}

/** @throws RldsError NOT_FOUND */
export async function servedFiles(path: string): Promise<ServedFiles> {
  // Whoever starts the server may name the folder by a link.
  const top = await realpath(path).catch((cause) => {
    throw new RldsError("NOT_FOUND", "there is no such file or folder", { file: path }, { cause });
  });
  if ((await stat(top)).isDirectory()) return { list: () => listed(top), open: (name) => opened(top, name) };
  const only = basename(top);
  return {
    only,
    list: async () => ({ files: [{ path: only, size: (await stat(top)).size }], leftOut: { links: [], unreadable: [], names: [] } }),
    async open(name) {
      if (name !== only) throw new RldsError("NOT_FOUND", "there is no such file", { file: name });
      return opened(dirname(top), only);
    },
  };
}

async function opened(top: string, name: string): Promise<SourceFile> {
  const real = await realpath(join(top, name)).catch((cause) => {
    throw new RldsError("NOT_FOUND", "there is no such file", { file: name }, { cause });
  });
  if (!isInside(top, real)) throw new RldsError("NOT_FOUND", "there is no such file", { file: name });
  const { file, folder } = await sourceOf(real);
  if (folder !== undefined) throw new RldsError("NOT_FOUND", "there is a folder", { file: name });
  return file;
}

/** Whether a place, which is no link, is in the folder. A link may lead to what is hidden. */
function isInside(top: string, real: string): boolean {
  return isServable(relative(top, real).split(sep));
}

async function listed(top: string): Promise<Listing> {
  const files: ServedFile[] = [];
  const leftOut = { links: [] as string[], unreadable: [] as string[], names: [] as string[] };
  const waiting: string[][] = [[]];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of await entriesOf(top, folder, leftOut.unreadable)) {
      const path = [...folder, entry.name];
      const name = path.join("/");
      if (entry.name.startsWith(".")) continue;
      if (!isServable(path)) leftOut.names.push(name);
      else if (entry.isDirectory()) waiting.push(path);
      else if (entry.isSymbolicLink()) {
        const real = await realpath(join(top, ...path)).catch(() => undefined);
        if (real === undefined || !isInside(top, real)) leftOut.links.push(name);
        else await add(name, real);
      } else if (entry.isFile()) await add(name, join(top, ...path));
    }
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), leftOut };

  async function add(path: string, real: string): Promise<void> {
    const about = await stat(real).catch(() => undefined);
    if (about?.isFile()) files.push({ path, size: about.size });
  }
}

/** What is in a folder; nothing, and its path is noted, where it may not be listed. */
async function entriesOf(top: string, folder: readonly string[], unreadable: string[]): Promise<Dirent[]> {
  try {
    return await readdir(join(top, ...folder), { withFileTypes: true });
  } catch (cause) {
    if (folder.length === 0) throw new RldsError("IO", `the folder cannot be listed: ${(cause as Error).message}`, { file: top }, { cause });
    unreadable.push(folder.join("/"));
    return [];
  }
}
