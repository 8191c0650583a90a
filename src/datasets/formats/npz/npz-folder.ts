/** Reads a folder of NumPy archives. The episodes of the files follow each other. */
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { specDifference } from "../columns/spec-difference.ts";
import type { SourceLoss } from "../damage.ts";
import { Damage } from "../damage.ts";
import type { ReadEpisode, RldsReader } from "../reader.ts";
import { type SourceFile, type SourceFolder, sortPaths } from "../sources/source.ts";

type OpenFile = (file: SourceFile) => Promise<RldsReader>;

/**
 * Opens a folder of archives. @param open opens a dataset in one file, and leaves that file open
 * @throws RldsError UNSUPPORTED if the folder has no archive, or if its archives differ
 */
export async function openNpzFolder(
  folder: SourceFolder,
  open: OpenFile,
  { salvage, signal }: { readonly salvage?: boolean; readonly signal?: AbortSignal },
): Promise<RldsReader> {
  const paths = sortPaths(((await folder.list()) ?? []).filter((path) => path.endsWith(".npz")));
  if (paths.length === 0) throw unsupportedFile({ file: folder.name }, "the folder has no .npz file. Pass the path of a file, or a folder that contains one");
  const losses = salvage === true ? new FolderLosses() : undefined;
  const first = await firstReader(folder, paths, open, losses);
  const { stepSpec, metadataSpec, about } = first;
  if (losses === undefined) await checkForms(folder, paths, open, first);
  const all = async function* (): AsyncGenerator<ReadEpisode, void, undefined> {
    for (const path of paths) {
      signal?.throwIfAborted();
      try {
        yield* episodesOf(folder, path, open, { stepSpec, metadataSpec }, losses);
      } catch (error) {
        if (losses === undefined) throw error;
        losses.errors.add(error);
      }
    }
  };
  return {
    format: "npz",
    name: folder.name.slice(folder.name.lastIndexOf("/") + 1),
    stepSpec,
    metadataSpec,
    about: paths.length === 1 ? about : {},
    ...(losses && {
      get losses() {
        return losses.all;
      },
    }),
    [Symbol.asyncIterator]: all,
    async close() {},
  };
}

/** The number of files, including the first, whose specs are compared when the folder is opened. */
const CHECKED_FILES = 4;

/**
 * Checks that the first archives of a folder have the same form, because unrelated archives are not one dataset. @throws RldsError UNSUPPORTED if they differ
 */
async function checkForms(folder: SourceFolder, paths: readonly string[], open: OpenFile, { stepSpec }: RldsReader): Promise<void> {
  for (const path of paths.slice(1, CHECKED_FILES)) {
    const difference = await withFile(folder, path, open, async (reader) => specDifference(stepSpec, reader.stepSpec)).catch((error) => {
      if (error instanceof RldsError && error.code === "UNSUPPORTED") return error.message;
      // The error is reported when the file is read.
      if (error instanceof RldsError) return undefined;
      throw error;
    });
    if (difference !== undefined)
      throw unsupportedFile(
        { file: folder.name },
        `the folder has ${paths.length} .npz files, but ${path} differs from ${paths[0]} (${difference}). Pass one of the files`,
      );
  }
}

/** Collects the losses of the folder and of its files. */
class FolderLosses {
  readonly errors = new Damage();
  readonly #ofFiles = new Map<string, SourceLoss>();

  note(reader: RldsReader): void {
    for (const loss of reader.losses ?? []) this.#ofFiles.set(loss.reason, loss);
  }

  get all(): readonly SourceLoss[] {
    return [...this.errors.all, ...this.#ofFiles.values()];
  }
}

async function withFile<T>(folder: SourceFolder, path: string, open: OpenFile, use: (reader: RldsReader) => Promise<T>): Promise<T> {
  const file = await folder.open(path);
  try {
    const reader = await open(file);
    try {
      return await use(reader);
    } finally {
      await reader.close();
    }
  } finally {
    await file.close();
  }
}

/** Returns the reader of the first file, or of the first file that can be read if losses are allowed. */
async function firstReader(folder: SourceFolder, paths: readonly string[], open: OpenFile, losses: FolderLosses | undefined): Promise<RldsReader> {
  for (const [i, path] of paths.entries()) {
    try {
      return await withFile(folder, path, open, async (reader) => reader);
    } catch (error) {
      if (losses === undefined || i === paths.length - 1) throw error;
      losses.errors.add(error);
    }
  }
  throw new RldsError("EMPTY", "the folder has no files", { file: folder.name });
}

async function* episodesOf(
  folder: SourceFolder,
  path: string,
  open: OpenFile,
  specs: Pick<RldsReader, "stepSpec" | "metadataSpec">,
  losses: FolderLosses | undefined,
): AsyncGenerator<ReadEpisode, void, undefined> {
  const file = await folder.open(path);
  try {
    const reader = await open(file);
    try {
      const difference = specDifference(specs.stepSpec, reader.stepSpec) ?? specDifference(specs.metadataSpec, reader.metadataSpec);
      if (difference !== undefined) throw new RldsError("SPEC_MISMATCH", `the file differs from the first file: ${difference}`, { file: path });
      yield* reader;
    } finally {
      losses?.note(reader);
      await reader.close();
    }
  } finally {
    await file.close();
  }
}
