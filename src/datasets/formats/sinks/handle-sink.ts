/** Writes to a folder to which the user granted a page access, or to the private file system of the page's origin. */
import { locksOf } from "./locks.ts";
import type { SinkFolder } from "./sink-folder.ts";

interface FileHandle {
  createWritable(): Promise<{ write(bytes: Uint8Array): Promise<void>; close(): Promise<void> }>;
  getFile(): Promise<Blob>;
  /** Renames the file. Some browsers do not support this method. */
  move?(name: string): Promise<void>;
}

/** The properties of FileSystemDirectoryHandle that Reprise uses. */
export interface DirectoryHandle {
  readonly kind: "directory";
  readonly name: string;
  getDirectoryHandle(name: string, options?: { readonly create?: boolean }): Promise<DirectoryHandle>;
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<unknown>;
  removeEntry(name: string): Promise<void>;
  entries(): AsyncIterable<[string, { readonly kind: string }]>;
}

const CHUNK_BYTES = 1 << 20;
const returnTrue = () => true;
const returnFalse = () => false;

export function handleSink(root: DirectoryHandle): SinkFolder {
  const folderAt = async (names: readonly string[], create: boolean) => {
    let at = root;
    for (const name of names) at = await at.getDirectoryHandle(name, { create });
    return at;
  };
  const fileAt = async (path: string, create: boolean) => {
    const names = path.split("/");
    const folder = await folderAt(names.slice(0, -1), create);
    return (await folder.getFileHandle(names.at(-1) as string, { create })) as FileHandle;
  };
  const ignoreMissing = <T>(work: Promise<T>, fallback: T) =>
    work.catch((error) => {
      if (error?.name === "NotFoundError") return fallback;
      throw error;
    });
  const sink: SinkFolder = {
    name: root.name,
    lock: locksOf(root, root.name),
    async list(path) {
      const folder = await ignoreMissing<DirectoryHandle | undefined>(folderAt(path === "" ? [] : path.split("/"), false), undefined);
      const paths: string[] = [];
      if (folder !== undefined) for await (const [name, { kind }] of folder.entries()) if (kind === "file") paths.push(path === "" ? name : `${path}/${name}`);
      return paths.sort();
    },
    async read(path) {
      return new Uint8Array(await (await (await fileAt(path, false)).getFile()).arrayBuffer());
    },
    async create(path) {
      const stream = await (await fileAt(path, true)).createWritable();
      return { write: (bytes) => stream.write(bytes), close: () => stream.close() };
    },
    async rename(from, to) {
      const file = await fileAt(from, false);
      if (file.move !== undefined) return file.move(to.split("/").at(-1) as string);
      const bytes = await file.getFile();
      const copy = await sink.create(to);
      for (let at = 0; at < bytes.size; at += CHUNK_BYTES) await copy.write(new Uint8Array(await bytes.slice(at, at + CHUNK_BYTES).arrayBuffer()));
      await copy.close();
      await sink.remove(from);
    },
    async remove(path) {
      const names = path.split("/");
      const removed = (length: number) => folderAt(names.slice(0, length - 1), false).then((folder) => folder.removeEntry(names[length - 1] as string));
      await ignoreMissing(removed(names.length), undefined);
      // Empty folders are removed. The removal of a folder with content fails, which ends the loop.
      for (let length = names.length - 1; length > 0; length--) if (!(await removed(length).then(returnTrue, returnFalse))) break;
    },
  };
  return sink;
}
