/** Detects pointer files for all readers. Git LFS leaves a pointer file in place of a file that it has not fetched. */
import { corruptFile } from "../../model/rlds-error.ts";
import type { SourceFile, SourceTarget } from "./source.ts";

const POINTER = "version https://git-lfs.github.com/spec/";
/** The maximum size of a pointer file, in bytes. */
const MAX_BYTES = 1024;

/**
 * Returns the source with a check for Git LFS pointers.
 * @throws RldsError CORRUPT if the file is a pointer. A folder checks each file when it opens the file
 */
export async function withoutPointers({ file, folder }: SourceTarget): Promise<SourceTarget> {
  if (file !== undefined) return { file: await checked(file) };
  const { readNow } = folder;
  return {
    folder: {
      name: folder.name,
      open: async (path, options) => checked(await folder.open(path, options)),
      list: () => folder.list(),
      ...(readNow && { readNow: (path: string, at: number, length: number) => readNow.call(folder, path, at, length) }),
    },
  };
}

async function checked(file: SourceFile): Promise<SourceFile> {
  if (file.size < POINTER.length || file.size > MAX_BYTES) return file;
  const bytes = await file.read(0, file.size).catch(() => new Uint8Array(0));
  const text = String.fromCharCode(...bytes);
  if (!text.startsWith(POINTER)) return file;
  await file.close();
  const size = /^size (\d+)$/m.exec(text)?.[1];
  const what = `the file is a Git LFS pointer${size === undefined ? "" : ` to ${size} bytes`}, not the data`;
  throw corruptFile({ file: file.name }, `${what}. Run git lfs pull in its repository`);
}
