/** Opens any supported HDF5 file. */
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { type MinariOptions, minariOf } from "../minari/open-minari.ts";
import type { RldsReader } from "../reader.ts";
import type { Source } from "../sources/open-source.ts";
import { type D4rlOptions, d4rlOf } from "./d4rl.ts";
import { openTarget } from "./open-file.ts";
import { type RobotOptions, robotsOf } from "./open-robots.ts";
import { alohaFiles, alohaPaths, oneFile } from "./robot-files.ts";
import { type RobotFormat, robotFormatOf } from "./robot-layouts.ts";

/**
 * Opens a file as Minari if the root contains a group of an episode, as robot data if the file has the layout of a robot dataset, and otherwise as D4RL. Opens
 * a folder of several ALOHA files as one dataset. @throws the errors of `openMinari`, `openRobots` and `openD4rl`
 */
export async function openAnyHdf5(from: Source, options: MinariOptions & D4rlOptions & RobotOptions): Promise<RldsReader> {
  const { signal, fetch, maxBytes = MAX_SOURCE_BYTES } = options;
  const target = await decompressedSource(from, { signal, fetch, maxBytes });
  const { folder } = target;
  const paths = folder === undefined ? [] : await alohaPaths(folder);
  if (folder !== undefined && paths.length > 1) return robotsOf(alohaFiles(folder, paths, options), "aloha", options);
  const source = await openTarget(target, ["data/main_data.hdf5", "main_data.hdf5", ".hdf5", ".h5"], options);
  let isMinari: boolean;
  let robot: RobotFormat | undefined;
  try {
    isMinari = (await source.hdf5.names("/")).some((name) => /^episode_\d+$/.test(name));
    robot = isMinari ? undefined : await robotFormatOf(source.hdf5);
  } catch (error) {
    await source.hdf5.close();
    throw error;
  }
  if (isMinari) return minariOf(source, options);
  return robot === undefined ? d4rlOf(source, options) : robotsOf(oneFile(source, from, options), robot, options);
}
