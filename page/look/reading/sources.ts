/** Converts the user's input to a file or folder whose bytes are counted. */
import { type Source, type SourceFile, type SourceFolder, sourceOf } from "reprise/rlds";
import type { Given, GivenFile, ListedFile } from "../messages.ts";
import { fileAddress } from "../model/file-address.ts";
import { type ByteCount, countedFile, countedFolder } from "./counted.ts";
import { withReadNow } from "./url-blocks.ts";

export interface CountedSource {
  readonly from: Source;
  /** The number of bytes of all files of the source; undefined if unknown. */
  readonly bytes?: number;
}

export function countedSource(given: Given, count: ByteCount, signal: AbortSignal): Promise<CountedSource> {
  return given.kind === "files" ? ofFiles(given.name, given.files, count) : ofUrl(new URL(given.url), given.listed, count, signal);
}

async function ofFiles(name: string, files: readonly GivenFile[], count: ByteCount): Promise<CountedSource> {
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  const [only] = files;
  if (files.length === 1 && only !== undefined && !only.path.includes("/")) {
    const { file } = await sourceOf(only.file);
    return { from: countedFile({ ...(file as SourceFile), name: only.path }, count), bytes };
  }
  const { folder } = await sourceOf(new Map(files.map(({ path, file }) => [path, file])));
  return { from: countedFolder({ ...(folder as SourceFolder), name }, count), bytes };
}

async function ofUrl(url: URL, listed: readonly ListedFile[] | undefined, count: ByteCount, signal: AbortSignal): Promise<CountedSource> {
  const { file, folder } = await sourceOf(url, { signal });
  const sum = listed?.reduce((sum, { size }) => sum + size, 0);
  if (folder === undefined) return { from: countedFile(withReadNow(file, url.href), count), bytes: file.size };
  const blocking: SourceFolder = {
    name: folder.name,
    list: () => folder.list(),
    open: async (path, how) => withReadNow(await folder.open(path, how), fileAddress(url.href, path)),
  };
  const paths = listed?.map(({ path }) => path).sort();
  return { from: countedFolder(blocking, count, paths), bytes: sum };
}
