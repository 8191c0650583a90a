/** The files of a folder, or a file alone, as a server may give them: nothing that a link leads out of it to, nothing hidden, no pipes and devices. */
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { RldsError, type SourceFile, sourceOf } from "../../rlds/index.ts";
import { isServable } from "./request.ts";

export interface ServedFile {
  /** With slashes. */
  readonly path: string;
  readonly size: number;
}

export interface ServedFiles {
  /** The name of the file, where it is one alone. */
  readonly only?: string;
  list(): Promise<readonly ServedFile[]>;
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
    list: async () => [{ path: only, size: (await stat(top)).size }],
    async open(name) {
      if (name !== only) throw new RldsError("NOT_FOUND", "there is no such file", { file: name });
      return opened(dirname(top), only);
    },
  };
}

async function opened(top: string, name: string): Promise<SourceFile> {
  const { folder } = await sourceOf(top);
  if (folder === undefined) throw new RldsError("NOT_FOUND", "the folder is gone", { file: top });
  const real = await realpath(join(top, name)).catch((cause) => {
    throw new RldsError("NOT_FOUND", "there is no such file", { file: name }, { cause });
  });
  // A link may lead to what is hidden.
  if (!isServable(relative(top, real).split(sep))) throw new RldsError("NOT_FOUND", "there is no such file", { file: name });
  return folder.open(name);
}

async function listed(top: string): Promise<ServedFile[]> {
  const found: ServedFile[] = [];
  for (const entry of await readdir(top, { recursive: true, withFileTypes: true })) {
    // Node before 20.12 calls it so.
    const { parentPath = (entry as unknown as { readonly path: string }).path } = entry as { readonly parentPath?: string };
    const full = join(parentPath, entry.name);
    const path = relative(top, full).split(sep);
    if (!isServable(path) || !(entry.isFile() || entry.isSymbolicLink())) continue;
    const real = await realpath(full).catch(() => undefined);
    if (real === undefined || !isServable(relative(top, real).split(sep))) continue;
    const about = await stat(real).catch(() => undefined);
    if (about?.isFile()) found.push({ path: path.join("/"), size: about.size });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}
