/** Defines the file names and the meta/info.json fields of the two LeRobot versions that can be written. */
import { CHUNK_FILES, chunkOf, fileName } from "./file-paths.ts";

/** The LeRobot versions that can be written. */
export const LEROBOT_VERSIONS = ["2.1", "3.0"] as const;
/** A LeRobot version that can be written. */
export type LeRobotVersion = (typeof LEROBOT_VERSIONS)[number];

/** The files of a LeRobot version. */
export interface Layout {
  readonly version: LeRobotVersion;
  /** Whether each episode has its own files. */
  readonly isPerEpisode: boolean;
  dataPath(file: number): string;
  filmPath(camera: string, file: number): string;
  /** Returns the fields of meta/info.json that describe the version and the files. */
  info(counts: DatasetCounts): LayoutInfo;
}

/** The counts that meta/info.json contains. */
export interface DatasetCounts {
  readonly episodes: number;
  /** The number of cameras with videos. */
  readonly cameras: number;
}

/** The fields of meta/info.json that depend on the version. */
export interface LayoutInfo {
  /** The entries that follow the counts of episodes, frames and tasks in meta/info.json. */
  readonly counts: { readonly [key: string]: number };
  readonly paths: { readonly data_path: string; readonly video_path: string | null };
}

const V30: Layout = {
  version: "3.0",
  isPerEpisode: false,
  dataPath: (file) => `data/${fileName(file)}.parquet`,
  filmPath: (camera, file) => `videos/${camera}/${fileName(file)}.mp4`,
  info({ cameras }) {
    const file = "chunk-{chunk_index:03d}/file-{file_index:03d}";
    return {
      counts: { chunks_size: CHUNK_FILES, data_files_size_in_mb: 100, video_files_size_in_mb: 200 },
      paths: { data_path: `data/${file}.parquet`, video_path: cameras > 0 ? `videos/{video_key}/${file}.mp4` : null },
    };
  },
};

const episodeName = (episode: number) => `episode_${String(episode).padStart(6, "0")}`;

const V21: Layout = {
  version: "2.1",
  isPerEpisode: true,
  dataPath: (episode) => `data/${chunkOf(episode)}/${episodeName(episode)}.parquet`,
  filmPath: (camera, episode) => `videos/${chunkOf(episode)}/${camera}/${episodeName(episode)}.mp4`,
  info({ episodes, cameras }) {
    const [chunk, file] = ["chunk-{episode_chunk:03d}", "episode_{episode_index:06d}"];
    return {
      counts: { total_videos: episodes * cameras, total_chunks: Math.ceil(episodes / CHUNK_FILES), chunks_size: CHUNK_FILES },
      paths: { data_path: `data/${chunk}/${file}.parquet`, video_path: cameras > 0 ? `videos/${chunk}/{video_key}/${file}.mp4` : null },
    };
  },
};

/** Returns the layout of a version. */
export function layoutOf(version: LeRobotVersion): Layout {
  return version === "2.1" ? V21 : V30;
}
