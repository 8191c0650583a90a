/** Presents a zip archive as a folder. */
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { findEntryStart, isStored, type ZipEntry, zipEntries, zipPieces } from "../npz/zip.ts";
import { bytesFile } from "../sources/bytes-source.ts";
import { checkInside, type SourceFile, type SourceFolder } from "../sources/source.ts";

/** The maximum size in bytes of an uncompressed entry that is loaded completely. Larger entries remain in the archive and are read in ranges. */
const MAX_LOADED_BYTES = 2 ** 24;

/** Opens a zip archive as a folder. The caller closes the archive's file. @throws RldsError CORRUPT if the archive is damaged */
export async function zipFolder(file: SourceFile, maxBytes: number, signal?: AbortSignal): Promise<SourceFolder> {
  const entries = new Map<string, ZipEntry>();
  // A later entry replaces an earlier entry with the same name, because zarr appends new metadata of groups to an archive.
  for (const entry of await zipEntries(file, maxBytes)) if (!entry.name.endsWith("/")) entries.set(entry.name, entry);
  return {
    name: file.name,
    async open(path) {
      const entry = entries.get(checkInside(path, file.name));
      if (entry === undefined) throw new RldsError("NOT_FOUND", "there is no such file", { file: `${file.name}/${path}` });
      if (entry.size > MAX_LOADED_BYTES && isStored(entry)) return storedFile(file, entry);
      if (entry.size > maxBytes)
        throw corruptFile({ file: file.name }, `${path} has ${entry.size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
      return bytesFile(path, await bytesOf(file, entry, signal));
    },
    async list() {
      return [...entries.keys()].sort();
    },
  };
}

async function bytesOf(file: SourceFile, entry: ZipEntry, signal?: AbortSignal): Promise<Uint8Array> {
  // The declared size is checked before it is used.
  await findEntryStart(file, entry);
  const bytes = new Uint8Array(entry.size);
  let done = 0;
  for await (const piece of zipPieces(file, entry, signal)) {
    bytes.set(piece, done);
    done += piece.length;
  }
  return bytes;
}

async function storedFile(file: SourceFile, entry: ZipEntry): Promise<SourceFile> {
  const begin = await findEntryStart(file, entry);
  return {
    name: entry.name,
    size: entry.size,
    async read(at, length) {
      if (at + length > entry.size) throw corruptFile({ file: entry.name, offset: entry.size }, `the file ends ${at + length - entry.size} bytes too early`);
      return file.read(begin + at, length);
    },
    async close() {},
  };
}
