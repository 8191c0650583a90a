/** Opens the HDF5 file in a source. */
import { integer } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import type { ReadOptions } from "../reader.ts";
import type { Source } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder, SourceTarget } from "../sources/source.ts";
import { Hdf5File } from "./hdf5-file.ts";
import type { H5wasm } from "./package.ts";

/** The options that all readers of HDF5 files have in common. */
export interface Hdf5Options extends ReadOptions {
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
  /**
   * The package h5wasm (`import * as h5wasm from …`), if it cannot be imported by name. The worker of a page without a bundler needs this option, because a
   * worker has no import map. Default: the installed package.
   */
  readonly h5wasm?: H5wasm;
}

/** An open HDF5 file and its folder. */
export interface Hdf5Source {
  readonly hdf5: Hdf5File;
  /** The folder that contains the HDF5 file, if the source is a folder. `path` is the path of the file in the folder. */
  readonly folder?: SourceFolder;
  readonly path?: string;
}

/**
 * Opens the HDF5 file of a source.
 * @param names the possible names of the file in a folder, in order of preference, and possible endings, such as `.h5`. If no file has one of these names, the
 * only file whose path ends with one of them is used
 * @throws RldsError NOT_FOUND if the source does not exist, or if the folder has no such file
 * @throws RldsError CORRUPT if the file is damaged
 * @throws RldsError UNSUPPORTED if several files match, if h5wasm is missing, or if the file must be read from memory and exceeds maxBytes
 */
export async function openHdf5(from: Source, names: readonly string[], options: Hdf5Options): Promise<Hdf5Source> {
  const { signal, maxBytes = MAX_SOURCE_BYTES, fetch } = options;
  integer("maxBytes", maxBytes, 1);
  return openTarget(await decompressedSource(from, { signal, maxBytes, fetch }), names, options);
}

/** Does the same as `openHdf5` for a source that is already open. Closing the HDF5 file also closes the source file. */
export async function openTarget(
  { file, folder }: SourceTarget,
  names: readonly string[],
  { signal, maxBytes = MAX_SOURCE_BYTES, h5wasm }: Hdf5Options,
): Promise<Hdf5Source> {
  if (file !== undefined) return { hdf5: await Hdf5File.open(file, { signal, maxBytes, h5wasm }) };
  const { file: hdf5File, path } = await fileIn(folder, names);
  return { hdf5: await Hdf5File.open(hdf5File, { signal, maxBytes, h5wasm }), folder, path };
}

async function fileIn(folder: SourceFolder, names: readonly string[]): Promise<{ file: SourceFile; path: string }> {
  const paths = await folder.list();
  const matches = paths?.filter((path) => names.some((name) => path === name || path.endsWith(`/${name}`) || (name.startsWith(".") && path.endsWith(name))));
  const candidates = paths === undefined ? names.filter((name) => !name.startsWith(".")) : names.filter((name) => paths.includes(name));
  for (const path of candidates.length > 0 ? candidates : (matches ?? [])) {
    if (candidates.length === 0 && matches !== undefined && matches.length > 1) {
      const examples = matches.slice(0, 4).join(", ");
      throw unsupportedFile(
        { file: folder.name },
        `the folder has ${matches.length} datasets (${examples}${matches.length > 4 ? ", …" : ""}). Open one of them`,
      );
    }
    try {
      return { file: await folder.open(path), path };
    } catch (error) {
      if (!(error instanceof RldsError && error.code === "NOT_FOUND")) throw error;
    }
  }
  throw new RldsError("NOT_FOUND", `the folder has no HDF5 file (${names.join(", ")})`, { file: folder.name });
}
