/** An HDF5 file, whoever wrote it. */

import { type MinariOptions, minariOf } from "../minari/open-minari.ts";
import type { RldsReader } from "../reader.ts";
import type { Source } from "../sources/open-source.ts";
import { type D4rlOptions, d4rlOf } from "./d4rl.ts";
import { openHdf5 } from "./open-file.ts";

/** Minari's where a group is an episode, else D4RL's. @throws RldsError */
export async function openAnyHdf5(from: Source, options: MinariOptions & D4rlOptions): Promise<RldsReader> {
  const source = await openHdf5(from, ["data/main_data.hdf5", "main_data.hdf5", ".hdf5", ".h5"], options);
  let isMinari: boolean;
  try {
    isMinari = (await source.hdf5.names("/")).some((name) => /^episode_\d+$/.test(name));
  } catch (error) {
    await source.hdf5.close();
    throw error;
  }
  return isMinari ? minariOf(source, options) : d4rlOf(source, options);
}
