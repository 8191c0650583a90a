/** Opens the file of a segment for reading, and reads its size. Either call may fail with an I/O error. */
import type { Directory, StorageFile } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import { fileOf } from "./segment-head.ts";

/** Returns the open file of a segment, and its size in bytes. @throws ReplayError IO if the file cannot be opened, or if its size cannot be read */
export function openSegment(directory: Directory, segment: number): { readonly file: StorageFile; readonly size: number } {
  return withIoErrors("opening", directory, fileOf(segment), () => {
    const file = directory.open(fileOf(segment), false);
    try {
      return { file, size: file.size };
    } catch (error) {
      file.close();
      throw error;
    }
  });
}
