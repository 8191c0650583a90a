/** Writes to the file system with the modules of Node, which Deno and Bun also provide. */
import { builtin, hasBuiltins } from "../../../files/builtins/builtins.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { lockFile } from "./node-locks.ts";
import type { SinkFile, SinkFolder } from "./sink-folder.ts";

interface Entry {
  readonly name: string;
  isDirectory(): boolean;
}

interface Stat {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

interface Handle {
  write(bytes: Uint8Array, offset: number): Promise<{ readonly bytesWritten: number }>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The parts of `node:fs/promises` and `node:path` that are used. */
interface Modules {
  readonly fs: {
    readdir(path: string, options: { readonly withFileTypes: true }): Promise<Entry[]>;
    mkdir(path: string, options: { readonly recursive: true }): Promise<string | undefined>;
    rmdir(path: string): Promise<void>;
    readFile(path: string): Promise<Uint8Array>;
    open(path: string, flags: "w" | "wx"): Promise<Handle>;
    stat(path: string): Promise<Stat>;
    lstat(path: string): Promise<Stat>;
    rename(from: string, to: string): Promise<void>;
    rm(path: string, options: { readonly force: true }): Promise<void>;
  };
  readonly paths: { join(...parts: string[]): string; dirname(path: string): string; basename(path: string): string };
}

async function modules(): Promise<Modules> {
  if (!hasBuiltins) throw new RldsError("UNSUPPORTED", "this runtime has no file system. Use a FileSystemDirectoryHandle or a Map instead of a path");
  return { fs: await builtin<Modules["fs"]>("node:fs/promises"), paths: await builtin<Modules["paths"]>("node:path") };
}

/** Returns the folder at a path. If the path has one of the endings, returns its parent folder and the name of the file. */
export async function nodeSink(to: string, endings: readonly string[]): Promise<{ readonly folder: SinkFolder; readonly path?: string }> {
  const loaded = await modules();
  if (!endings.some((suffix) => to.endsWith(suffix))) return { folder: folderOf(to, loaded) };
  return { folder: folderOf(loaded.paths.dirname(to), loaded), path: loaded.paths.basename(to) };
}

const returnTrue = () => true;
const returnFalse = () => false;

/** Ignores the error of a missing file. @throws any other error */
function missing(error: { readonly code?: string }): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

function notFileError(file: string, found: string): RldsError {
  return new RldsError("IO", `the path is ${found}, not a file. Use another path`, { file });
}

function sinkFile(handle: Handle): SinkFile {
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done)).bytesWritten;
    },
    async close() {
      // The bytes are synced before the rename, so a renamed file is complete even after a power failure.
      await handle.sync().finally(() => handle.close());
    },
  };
}

function folderOf(root: string, { fs, paths }: Modules): SinkFolder {
  const full = (path: string) => paths.join(root, ...path.split("/"));
  const opened = async (path: string, flags: "w" | "wx") => {
    await fs.mkdir(paths.dirname(full(path)), { recursive: true });
    return sinkFile(await fs.open(full(path), flags));
  };
  /** Checks that a path is a file if it exists. Opening a pipe would wait for a reader, possibly permanently, and a device cannot store data. */
  const checkFile = async (path: string) => {
    const stat = await fs.stat(full(path)).catch(missing);
    if (stat?.isFile() === false) throw notFileError(full(path), "a pipe, a device or a folder");
  };
  /** Checks that a rename may replace a path. Renaming over a pipe or a device would destroy it. */
  const checkReplaceable = async (path: string) => {
    const stat = await fs.lstat(full(path)).catch(missing);
    if (stat && !stat.isFile() && !stat.isSymbolicLink() && !stat.isDirectory()) throw notFileError(full(path), "a pipe or a device");
  };
  return {
    name: root,
    async list(folder) {
      const entries = await fs.readdir(full(folder), { withFileTypes: true }).catch((error: { readonly code?: string }): Entry[] => {
        if (error.code === "ENOENT") return [];
        throw error;
      });
      const start = folder === "" ? "" : `${folder}/`;
      return entries
        .filter((entry) => !entry.isDirectory())
        .map((entry) => start + entry.name)
        .sort();
    },
    async lock(path) {
      const folder = paths.dirname(full(path));
      const firstCreated = await fs.mkdir(folder, { recursive: true });
      const release = await lockFile(full(path));
      return async () => {
        release();
        // Folders that were created but not used are removed.
        for (let at = folder; firstCreated !== undefined && at.startsWith(firstCreated); at = paths.dirname(at))
          if (!(await fs.rmdir(at).then(returnTrue, returnFalse))) break;
      };
    },
    async read(path) {
      await checkFile(path);
      return fs.readFile(full(path));
    },
    // The flag "wx" prevents writing through a link that another user has planted.
    create: (path) => opened(path, "wx"),
    async truncate(path) {
      await checkFile(path);
      return opened(path, "w");
    },
    checkFile,
    async rename(from, to) {
      await checkReplaceable(to);
      await fs.rename(full(from), full(to));
    },
    async remove(path) {
      await checkReplaceable(path);
      await fs.rm(full(path), { force: true });
      // Empty folders are removed.
      for (let at = paths.dirname(path); at !== "." && at !== ""; at = paths.dirname(at)) if (!(await fs.rmdir(full(at)).then(returnTrue, returnFalse))) break;
    },
  };
}
