/** Finds the files of a robot dataset. The dataset is one file with one episode per group, or a folder with one episode per file. */
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type Source, siblingOf, sourceOf } from "../sources/open-source.ts";
import { openIfExists, type SourceFile, type SourceFolder, sortPaths } from "../sources/source.ts";
import { Hdf5File } from "./hdf5-file.ts";
import type { Hdf5Options, Hdf5Source } from "./open-file.ts";

const ENDING = /\.(hdf5|h5)$/;
/** Matches the file names of ALOHA's recorder. */
const ALOHA_FILE = /(^|\/)episode_?\d+\.(hdf5|h5)$/;

/** Returns the paths of the files of an ALOHA dataset, in the order of their numbers. Returns no paths if the folder also has other HDF5 files. */
export async function alohaPaths(folder: SourceFolder): Promise<string[]> {
  const paths = ((await folder.list()) ?? []).filter((path) => ENDING.test(path));
  return paths.every((path) => ALOHA_FILE.test(path)) ? sortPaths(paths) : [];
}

/** The files that contain the episodes of a dataset. Only one file is open at a time. */
export interface EpisodeFiles {
  readonly name: string;
  /** Opens the JSON file that ManiSkill writes next to its trajectories. Returns undefined if the file does not exist. Absent in datasets of several files. */
  readonly openJson?: () => Promise<SourceFile | undefined>;
  readonly count: number;
  /** Opens file i, and closes any other open file. */
  open(i: number): Promise<Hdf5File>;
  close(): Promise<void>;
}

/** Returns the files of a dataset that consists of one open file. @param from the source of the file */
export function oneFile({ hdf5, folder, path }: Hdf5Source, from: Source, { signal, fetch }: Hdf5Options): EpisodeFiles {
  return {
    name: hdf5.name.replace(ENDING, ""),
    count: 1,
    async openJson() {
      if (folder !== undefined && path !== undefined) return openIfExists(folder, path.replace(ENDING, ".json"));
      const source = siblingOf(from, ENDING, ".json");
      if (source === undefined) return undefined;
      // Servers respond in many ways to a request for a missing file, so any RldsError counts as a missing file.
      const target = await sourceOf(source, { ...(signal && { signal }), ...(fetch && { fetch }) }).catch((error) => {
        if (error instanceof RldsError) return undefined;
        throw error;
      });
      return target?.file;
    },
    open: async () => hdf5,
    close: () => hdf5.close(),
  };
}

/** Returns the files of an ALOHA folder, which are opened one at a time. */
export function alohaFiles(folder: SourceFolder, paths: readonly string[], { signal, maxBytes = MAX_SOURCE_BYTES, h5wasm }: Hdf5Options): EpisodeFiles {
  let current: { readonly i: number; readonly hdf5: Hdf5File } | undefined;
  const close = async () => {
    const open = current;
    current = undefined;
    await open?.hdf5.close();
  };
  return {
    name: folder.name,
    count: paths.length,
    async open(i) {
      if (current?.i === i) return current.hdf5;
      await close();
      const hdf5 = await Hdf5File.open(await folder.open(paths[i] as string), { ...(signal && { signal }), maxBytes, ...(h5wasm && { h5wasm }) });
      current = { i, hdf5 };
      return hdf5;
    },
    close,
  };
}
