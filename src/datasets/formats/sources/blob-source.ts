/** Reads Blobs, files that the user selected, and folders of such files. */
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { bytesFile } from "./bytes-source.ts";
import { checkInside, type SourceFile, type SourceFolder } from "./source.ts";

export function blobFile(name: string, blob: Blob): SourceFile {
  const early = (missing: number) => corruptFile({ file: name, offset: blob.size }, `the file ends ${missing} bytes too early`);
  const { FileReaderSync } = globalThis as unknown as { FileReaderSync?: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer } };
  return {
    name,
    size: blob.size,
    async read(at, length) {
      if (at + length > blob.size) throw early(at + length - blob.size);
      try {
        return new Uint8Array(await blob.slice(at, at + length).arrayBuffer());
      } catch (cause) {
        throw new RldsError("IO", "the file cannot be read: it may have changed since it was chosen", { file: name, offset: at }, { cause });
      }
    },
    // Synchronous reads are available only in workers.
    readNow:
      FileReaderSync &&
      ((at, length) => {
        if (at + length > blob.size) throw early(at + length - blob.size);
        return new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob.slice(at, at + length)));
      }),
    async close() {},
  };
}

function areAllBytes(files: ReadonlyMap<string, Uint8Array | Blob>): files is ReadonlyMap<string, Uint8Array> {
  for (const file of files.values()) if (!(file instanceof Uint8Array)) return false;
  return true;
}

/** Presents a map of bytes and Blobs by path as a folder. */
export function mapFolder(name: string, files: ReadonlyMap<string, Uint8Array | Blob>): SourceFolder {
  return {
    name,
    async open(path) {
      const blob = files.get(checkInside(path, name));
      if (blob === undefined) throw new RldsError("NOT_FOUND", "there is no such file", { file: `${name}/${path}` });
      return blob instanceof Uint8Array ? bytesFile(path, blob) : blobFile(path, blob);
    },
    ...(areAllBytes(files) && {
      readNow: (path: string, at: number, length: number) => {
        const bytes = files.get(checkInside(path, name)) as Uint8Array | undefined;
        if (bytes === undefined) throw new RldsError("NOT_FOUND", "there is no such file", { file: `${name}/${path}` });
        return (bytesFile(path, bytes).readNow as NonNullable<SourceFile["readNow"]>)(at, length);
      },
    }),
    async list() {
      return [...files.keys()].sort();
    },
  };
}

/** Presents the files of `<input type="file" webkitdirectory>` as a folder. The name of the selected folder is removed from their paths. */
export function filesFolder(files: readonly File[]): SourceFolder {
  const paths = files.map((file) => file.webkitRelativePath || file.name);
  const [top = ""] = paths[0]?.split("/") ?? [];
  const chosen = paths.every((path) => path.startsWith(`${top}/`));
  return mapFolder(
    (chosen && top) || "files",
    new Map(files.map((file, i) => [chosen ? (paths[i] as string).slice(top.length + 1) : (paths[i] as string), file])),
  );
}
