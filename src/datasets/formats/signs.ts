/** Defines the file names by which the format of a folder is detected. */

/** A format that is detected by file names. A "log" was written by a Replay or by a recorder, which only its first bytes show. */
export type FormatSign = "tfds" | "lerobot" | "parquet" | "hdf5" | "minari" | "npz" | "zarr" | "mcap" | "jsonl" | "csv" | "tfrecord" | "log";

/** File names and their formats. The first name that exists determines the format. */
export const NAMES: readonly (readonly [name: string, format: FormatSign])[] = [
  ["features.json", "tfds"],
  ["meta/info.json", "lerobot"],
  ["data/main_data.hdf5", "hdf5"],
  ["main_data.hdf5", "hdf5"],
  ["data/metadata.json", "minari"],
  ["meta/episode_ends/.zarray", "zarr"],
  ["meta/episode_ends/zarr.json", "zarr"],
  ["00000001.rpr", "log"],
];

export const ENDINGS: readonly (readonly [ending: string, format: FormatSign])[] = [
  [".parquet", "parquet"],
  [".hdf5", "hdf5"],
  [".h5", "hdf5"],
  [".jsonl", "jsonl"],
  [".ndjson", "jsonl"],
  [".rpr", "log"],
  [".npz", "npz"],
  [".mcap", "mcap"],
  [".csv", "csv"],
  [".tsv", "csv"],
  // The examples of TF-Agents have record files without an extension, with `.spec` files next to them.
  [".spec", "tfrecord"],
];

/** Returns whether a path is a file with this name, at any depth. */
export function isNamed(path: string, name: string): boolean {
  return path === name || path.endsWith(`/${name}`);
}
