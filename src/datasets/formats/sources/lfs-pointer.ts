/** Pointers of Git LFS: a few lines of text in the place of a file that was not downloaded. */
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import type { SourceFile } from "./source.ts";

const BEGINNING = "version https://git-lfs.github.com/spec/";
/** A pointer has fewer bytes, as its specification says. */
const MAX_BYTES = 1024;

/** The error for a file that is such a pointer; undefined for any other. */
export async function lfsPointerError(file: SourceFile): Promise<RldsError | undefined> {
  if (file.size >= MAX_BYTES || file.size < BEGINNING.length) return undefined;
  const text = String.fromCharCode(...(await file.read(0, file.size)));
  if (!text.startsWith(BEGINNING)) return undefined;
  const size = /^size (\d+)$/m.exec(text)?.[1];
  return corruptFile(
    { file: file.name },
    `the file is a Git LFS pointer${size === undefined ? "" : ` to ${size} bytes`}, not the data itself. Run git lfs pull in its repository`,
  );
}
