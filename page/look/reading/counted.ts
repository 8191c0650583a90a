/** Counts the bytes that are read from files. */
import type { FoundSource, SourceFile, SourceFolder } from "reprise/rlds";

export class ByteCount {
  read = 0;
}

export function countedFile(file: SourceFile, count: ByteCount): SourceFile {
  const { readNow } = file;
  const counted = (bytes: Uint8Array) => {
    count.read += bytes.length;
    return bytes;
  };
  return {
    name: file.name,
    size: file.size,
    read: async (at, length) => counted(await file.read(at, length)),
    readNow: readNow && ((at, length) => counted(readNow(at, length))),
    close: () => file.close(),
  };
}

/** @param paths the paths of the folder's files, if the folder cannot list them */
export function countedFolder(folder: SourceFolder, count: ByteCount, paths?: readonly string[]): SourceFolder {
  return {
    name: folder.name,
    open: async (path, how) => countedFile(await folder.open(path, how), count),
    list: async () => paths ?? folder.list(),
  };
}

export function counted(found: FoundSource, count: ByteCount): SourceFile | SourceFolder {
  return found.file === undefined ? countedFolder(found.folder, count) : countedFile(found.file, count);
}
