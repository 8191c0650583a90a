/** Reads the file system with the modules of Node, which Deno and Bun also provide. */
import { builtin, hasBuiltins } from "../../../files/builtins/builtins.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { checkInside, type SourceFile, type SourceFolder, type SourceTarget } from "./source.ts";

interface FileHandle {
  readonly fd: number;
  stat(): Promise<{ readonly size: number; isFile(): boolean }>;
  read(into: Uint8Array, offset: number, length: number, at: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

interface Entry {
  readonly name: string;
  readonly parentPath?: string;
  /** The parent folder before Node 20.12, which renamed this property. */
  readonly path: string;
  isFile(): boolean;
  isSymbolicLink(): boolean;
}

/** The parts of `node:fs/promises`, `node:fs` and `node:path` that are used. */
interface Modules {
  readonly fs: {
    stat(path: string): Promise<{ isDirectory(): boolean; isFile(): boolean }>;
    realpath(path: string): Promise<string>;
    readdir(path: string, options: { readonly recursive: true; readonly withFileTypes: true }): Promise<Entry[]>;
    open(path: string, flags: "r"): Promise<FileHandle>;
  };
  readonly fsSync: {
    readSync(fd: number, into: Uint8Array, offset: number, length: number, at: number): number;
    openSync(path: string, flags: "r"): number;
    closeSync(fd: number): void;
    realpathSync(path: string): string;
  };
  readonly path: { readonly sep: string; join(...parts: string[]): string; relative(from: string, to: string): string; basename(path: string): string };
}

async function modules(): Promise<Modules> {
  if (!hasBuiltins) throw new RldsError("UNSUPPORTED", "this runtime has no file system. Pass a URL, a Blob or files instead of a path");
  const [fs, fsSync, path] = await Promise.all([
    builtin<Modules["fs"]>("node:fs/promises"),
    builtin<Modules["fsSync"]>("node:fs"),
    builtin<Modules["path"]>("node:path"),
  ]);
  return { fs, fsSync, path };
}

/**
 * Opens a path of the file system.
 * @throws RldsError NOT_FOUND if the path does not exist · UNSUPPORTED if the runtime has no file system · IO if reading is not allowed
 */
export async function nodeSource(path: string): Promise<SourceTarget> {
  const loaded = await modules();
  const { fs, path: paths } = loaded;
  const stat = await fs.stat(path).catch((cause) => {
    throw openError("there is no such file or folder", path, cause);
  });
  if (stat.isDirectory()) return { folder: folderOf(path, loaded) };
  return { file: await fileOf(path, paths.basename(path), loaded) };
}

/** Returns the error for a file that cannot be opened. A file that exists, but that the program has no permission to read, is not reported as missing. */
export function openError(action: string, file: string, cause: unknown): RldsError {
  const { code, name } = (cause ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  if (name === "NotCapable" || name === "PermissionDenied")
    return new RldsError("IO", "Deno does not permit reading the file. Start Deno with --allow-read", { file }, { cause });
  if (code === "EACCES" || code === "EPERM")
    return new RldsError("IO", `reading the file is not permitted (${code}). Change its permissions`, { file }, { cause });
  return new RldsError("NOT_FOUND", action, { file }, { cause });
}

function folderOf(root: string, loaded: Modules): SourceFolder {
  const { fs, fsSync, path } = loaded;
  return {
    name: root,
    async open(name) {
      const full = path.join(root, checkInside(name, root));
      const [real, top] = await Promise.all([fs.realpath(full), fs.realpath(root)]).catch((cause) => {
        throw openError("there is no such file", full, cause);
      });
      checkLink(real, top, full, path.sep);
      return fileOf(full, name, loaded);
    },
    readNow(name, at, length) {
      const full = path.join(root, checkInside(name, root));
      let fd: number;
      try {
        checkLink(fsSync.realpathSync(full), fsSync.realpathSync(root), full, path.sep);
        fd = fsSync.openSync(full, "r");
      } catch (cause) {
        throw cause instanceof RldsError ? cause : openError("there is no such file", full, cause);
      }
      try {
        return readAll(fsSync, fd, at, length, () => corruptFile({ file: name, offset: at }, "the file was truncated while it was being read"));
      } finally {
        fsSync.closeSync(fd);
      }
    },
    async list() {
      const entries = await fs.readdir(root, { recursive: true, withFileTypes: true }).catch((cause) => {
        throw new RldsError("IO", `the folder cannot be listed: ${cause.message}`, { file: root }, { cause });
      });
      const files: string[] = [];
      for (const entry of entries) {
        const full = path.join(entry.parentPath ?? entry.path, entry.name);
        // A link to a file counts as a file. Opening the link checks its target.
        const isFile = entry.isFile() || (entry.isSymbolicLink() && (await fs.stat(full).catch(() => undefined))?.isFile());
        if (isFile) files.push(path.relative(root, full).split(path.sep).join("/"));
      }
      return files.sort();
    },
  };
}

/** Checks that the target of a link is inside the folder. */
function checkLink(real: string, top: string, file: string, separator: string): void {
  if (real.startsWith(top.endsWith(separator) ? top : top + separator)) return;
  throw corruptFile({ file }, "the file is a link that leads outside the dataset's folder. Copy the folder with the linked files, as cp -rL does");
}

function readAll(fsSync: Modules["fsSync"], fd: number, at: number, length: number, shorter: () => RldsError): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const read = fsSync.readSync(fd, bytes, done, length - done, at + done);
    if (read === 0) throw shorter();
    done += read;
  }
  return bytes;
}

async function fileOf(full: string, name: string, { fs, fsSync }: Modules): Promise<SourceFile> {
  const notFileError = () => new RldsError("NOT_FOUND", "the path is a folder, a pipe or a device, not a file", { file: full });
  let handle: FileHandle;
  try {
    // Opening a pipe would wait for a writer, possibly permanently.
    if (!(await fs.stat(full)).isFile()) throw notFileError();
    handle = await fs.open(full, "r");
  } catch (cause) {
    throw cause instanceof RldsError ? cause : openError("the file cannot be opened", full, cause);
  }
  const stat = await handle.stat();
  if (!stat.isFile()) {
    await handle.close();
    throw notFileError();
  }
  const { size } = stat;
  const early = (missing: number) => corruptFile({ file: name, offset: size }, `the file ends ${missing} bytes too early`);
  const shorter = (at: number) => corruptFile({ file: name, offset: at }, "the file was truncated while it was being read");
  return {
    name,
    size,
    async read(at, length) {
      if (at + length > size) throw early(at + length - size);
      const bytes = new Uint8Array(length);
      for (let done = 0; done < length; ) {
        const { bytesRead } = await handle.read(bytes, done, length - done, at + done).catch((cause) => {
          throw new RldsError("IO", `the file cannot be read: ${cause.message}`, { file: full, offset: at + done }, { cause });
        });
        if (bytesRead === 0) throw shorter(at + done);
        done += bytesRead;
      }
      return bytes;
    },
    readNow(at, length) {
      if (at + length > size) throw early(at + length - size);
      return readAll(fsSync, handle.fd, at, length, () => shorter(at));
    },
    close: () => handle.close(),
  };
}
