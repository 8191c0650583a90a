/** Opens files of records with their specs. */

import type { Leaf } from "../../../schema/leaf.ts";
import { isSameNest } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type Source, type SourceOptions, siblingOf, sourceOf } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import { readSpecFile } from "./spec-file.ts";
import { SPEC_ENDING } from "./structured-value.ts";

/** The message for a file that contains a spec instead of records. */
export const NO_RECORDS = `the file contains a spec, not records. Pass the file of the same name without ${SPEC_ENDING}`;

export function isSpecPath(path: string): boolean {
  return path.endsWith(SPEC_ENDING);
}

/** A folder from which files are read. */
export type FileSource = Source;

/** A function that opens a file by its path in a folder or in the file system, or by its URL. */
export type OpenFile = (path: string) => Promise<SourceFile>;

/**
 * Returns a function that opens files. @param from the folder; if undefined, each path is a separate source
 * @throws RldsError UNSUPPORTED if `from` is a file
 */
export async function fileOpener(from: Source | undefined, options: SourceOptions & { readonly maxBytes: number }): Promise<OpenFile> {
  if (from === undefined)
    return async (path) => {
      const { file } = await sourceOf(path, options);
      if (file === undefined && isHttp(path) && !new URL(path).pathname.endsWith("/")) return openUrl(new URL(path), options);
      if (file === undefined) throw new RldsError("UNSUPPORTED", "the path is a folder. Pass a record file from that folder", { file: path });
      return file;
    };
  const { folder, file } = await sourceOf(from, options);
  if (folder !== undefined) return (path) => folder.open(path);
  await file.close();
  throw new RldsError("UNSUPPORTED", "from must be a folder, got a file. Pass the folder that contains the files", { file: file.name });
}

export function isHttp(path: unknown): boolean {
  return /^https?:/i.test(String(path));
}

/** Opens a URL as a file, even if it has no extension. Other readers treat such a URL as a folder, but files in the examples of TF-Agents have no extension. */
async function openUrl(url: URL, options: SourceOptions): Promise<SourceFile> {
  const base = new URL("./", url);
  // The query may contain a signature that the server requires.
  base.search = url.search;
  const { folder } = await sourceOf(base, options);
  return (folder as SourceFolder).open(decodeURIComponent(url.pathname.replace(/^.*\//, "")));
}

/** Returns the common spec of all files. @throws RldsError NOT_FOUND if a spec is missing · SPEC_MISMATCH if the specs differ · the errors of readSpecFile */
export async function specOfFiles(paths: readonly string[], open: OpenFile, maxBytes: number): Promise<Spec> {
  let spec: Spec | undefined;
  for (const path of paths) {
    const next = await readSpecFile(await openSpec(path, open), maxBytes);
    spec ??= next;
    if (!isSameSpec(spec, next))
      throw new RldsError("SPEC_MISMATCH", `the spec differs from that of ${paths[0]}. Read the files one at a time`, { file: path });
  }
  return spec as Spec;
}

async function openSpec(path: string, open: OpenFile): Promise<SourceFile> {
  const specPath = isHttp(path) ? String(siblingOf(path, /$/, SPEC_ENDING)) : `${path}${SPEC_ENDING}`;
  try {
    return await open(specPath);
  } catch (cause) {
    if (!(cause instanceof RldsError) || cause.code !== "NOT_FOUND") throw cause;
    if (isSpecPath(path)) throw new RldsError("UNSUPPORTED", NO_RECORDS, { file: path }, { cause });
    throw new RldsError("NOT_FOUND", "there is no spec file next to the records. Add the spec file, or pass the option spec", { file: specPath }, { cause });
  }
}

function isSameSpec(a: Spec, b: Spec): boolean {
  return isSameNest<Leaf>(a as Leaf, b as Leaf, (one, other) => one.dtype === other.dtype && one.shape.join() === other.shape.join());
}
