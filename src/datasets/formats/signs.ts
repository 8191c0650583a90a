/** The files of a folder that show which format it has. */

/** A format whose files show it. Of a log only its first bytes say whether a Replay or a recorder wrote it. */
export type FormatSign = "tfds" | "lerobot" | "parquet" | "hdf5" | "minari" | "npz" | "zarr" | "mcap" | "jsonl" | "csv" | "tfrecord" | "log";

/** Names in a folder, by what they say; the first that is there says it. */
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
  // TF-Agents' own examples have files without an ending, and `.spec` files next to them.
  [".spec", "tfrecord"],
];

/** Whether a path is a file of that name, at any depth. */
export function isNamed(path: string, name: string): boolean {
  return path === name || path.endsWith(`/${name}`);
}
