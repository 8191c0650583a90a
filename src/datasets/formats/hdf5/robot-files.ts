/** The files that a dataset of robots is in: one with an episode a group, or a folder with an episode a file. */
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type Source, siblingOf, sourceOf } from "../sources/open-source.ts";
import { openIfExists, type SourceFile, type SourceFolder, sortPaths } from "../sources/source.ts";
import { Hdf5File } from "./hdf5-file.ts";
import type { Hdf5Options, Hdf5Source } from "./open-file.ts";

const ENDING = /\.(hdf5|h5)$/;
/** ALOHA's recorder calls its files so. */
const ALOHA_FILE = /(^|\/)episode_?\d+\.(hdf5|h5)$/;

/** The files of a folder that is a dataset of ALOHA's, in the order of their numbers; none where it has other HDF5 files. */
export async function alohaPaths(folder: SourceFolder): Promise<string[]> {
  const paths = ((await folder.list()) ?? []).filter((path) => ENDING.test(path));
  return paths.every((path) => ALOHA_FILE.test(path)) ? sortPaths(paths) : [];
}

/** The files that episodes are in: one at a time is open. */
export interface EpisodeFiles {
  readonly name: string;
  /** What ManiSkill writes beside its trajectories; undefined where it is not there. */
  readonly beside?: () => Promise<SourceFile | undefined>;
  readonly count: number;
  /** File number i. */
  open(i: number): Promise<Hdf5File>;
  close(): Promise<void>;
}

/** @param from where the file was found */
export function oneFile({ hdf5, folder, path }: Hdf5Source, from: Source, { signal, fetch }: Hdf5Options): EpisodeFiles {
  return {
    name: hdf5.name.replace(ENDING, ""),
    count: 1,
    async beside() {
      if (folder !== undefined && path !== undefined) return openIfExists(folder, path.replace(ENDING, ".json"));
      const source = siblingOf(from, ENDING, ".json");
      if (source === undefined) return undefined;
      // Servers have many answers for what is not there.
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
