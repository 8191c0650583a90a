/** Presents directories of reprise/storage as folders. A directory may be in memory, in OPFS, in a Durable Object, or custom. */
import type { Directory, StorageFile } from "../../../files/directory.ts";
import { withIoErrors } from "../../../files/io-errors.ts";
import { flushLogs } from "../../../storage/log/open-logs.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { checkInside, type SourceFile, type SourceFolder } from "./source.ts";

/** A directory of reprise/storage. The type omits `open`, whose type differs from that of a SourceFolder. */
export type DirectorySource = Omit<Directory, "open">;

/** Returns whether a value is a directory of reprise/storage, which is the only source with a method `lock`. */
export function isDirectory(value: unknown): value is Directory {
  const { lock, list, open } = (value ?? {}) as Partial<Directory>;
  return typeof lock === "function" && typeof list === "function" && typeof open === "function";
}

/** Returns a directory as a folder. If this process owns the directory's log, first writes the pending data of the log. */
export function directoryFolder(directory: Directory): SourceFolder {
  flushLogs(directory);
  return {
    name: directory.name,
    async open(path) {
      const name = checkInside(path, directory.name);
      return directoryFile(directory, name, openFile(directory, name));
    },
    readNow(path, at, length) {
      const name = checkInside(path, directory.name);
      const file = openFile(directory, name);
      try {
        return bytesOf(directory, name, file)(at, length);
      } finally {
        file.close();
      }
    },
    async list() {
      return withIoErrors("listing", directory, "", () => directory.list()).sort();
    },
  };
}

/** Opens a file. @throws RldsError NOT_FOUND if the file does not exist · ReplayError IO if it cannot be opened */
function openFile(directory: Directory, name: string): StorageFile {
  try {
    return withIoErrors("opening", directory, name, () => directory.open(name, false));
  } catch (cause) {
    if (directory.list().includes(name)) throw cause;
    throw new RldsError("NOT_FOUND", "there is no such file", { file: `${directory.name}/${name}` }, { cause });
  }
}

function bytesOf(directory: Directory, name: string, file: StorageFile): (at: number, length: number) => Uint8Array {
  const { size } = file;
  return (at, length) => {
    if (at + length > size) throw corruptFile({ file: name, offset: size }, `the file ends ${at + length - size} bytes too early`);
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const read = withIoErrors("reading", directory, name, () => file.read(bytes.subarray(done), at + done));
      if (!(read > 0)) throw corruptFile({ file: name, offset: at + done }, "the file was truncated while it was being read");
      done += read;
    }
    return bytes;
  };
}

function directoryFile(directory: Directory, name: string, file: StorageFile): SourceFile {
  const readNow = bytesOf(directory, name, file);
  return {
    name,
    size: file.size,
    read: async (at, length) => readNow(at, length),
    readNow,
    async close() {
      file.close();
    },
  };
}
