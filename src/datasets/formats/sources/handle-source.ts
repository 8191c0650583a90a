/** Reads files and folders from handles in a page. The user has selected them, or they belong to the origin (OPFS). */
import { RldsError } from "../../model/rlds-error.ts";
import { blobFile } from "./blob-source.ts";
import { checkInside, type SourceFile, type SourceFolder } from "./source.ts";

/** The properties of FileSystemFileHandle that Reprise uses. */
export interface FileHandleLike {
  readonly kind: "file";
  readonly name: string;
  getFile(): Promise<File>;
}

export interface FolderHandleLike {
  readonly kind: "directory";
  readonly name: string;
  getDirectoryHandle(name: string): Promise<FolderHandleLike>;
  getFileHandle(name: string): Promise<FileHandleLike>;
  entries(): AsyncIterable<[string, FileHandleLike | FolderHandleLike]>;
}

/** Opens the file of a handle. @throws RldsError NOT_FOUND if the file does not exist */
export async function handleFile(handle: FileHandleLike, name = handle.name): Promise<SourceFile> {
  return blobFile(name, await convertErrors(handle.getFile(), name));
}

export function handleFolder(root: FolderHandleLike): SourceFolder {
  return {
    name: root.name,
    async open(path) {
      const names = checkInside(path, root.name).split("/");
      const last = names.pop() as string;
      let folder = root;
      for (const name of names) folder = await convertErrors(folder.getDirectoryHandle(name), path);
      return handleFile(await convertErrors(folder.getFileHandle(last), path), path);
    },
    async list() {
      return (await listFiles(root, "")).sort();
    },
  };
}

async function listFiles(folder: FolderHandleLike, prefix: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const [name, entry] of folder.entries()) {
    if (entry.kind === "file") paths.push(prefix + name);
    else paths.push(...(await listFiles(entry, `${prefix}${name}/`)));
  }
  return paths;
}

async function convertErrors<T>(request: Promise<T>, file: string): Promise<T> {
  try {
    return await request;
  } catch (cause) {
    const missing = ["NotFoundError", "TypeMismatchError"].includes((cause as Error | undefined)?.name ?? "");
    throw new RldsError(missing ? "NOT_FOUND" : "IO", missing ? "there is no such file" : "the file cannot be opened", { file }, { cause });
  }
}
