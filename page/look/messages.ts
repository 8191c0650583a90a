/** Defines the messages between the room and its worker. */
import type { Format } from "reprise/rlds";
import type { LeafColumn, LeafForm } from "./model/columns.ts";
import type { Distribution } from "./model/distributions.ts";
import type { EpisodeSummary } from "./model/episode-table.ts";
import type { FindingGroup } from "./model/findings.ts";
import type { ReadingOptions } from "./model/reading-options.ts";

/** The data that the user opened: files, or the address of a dataset. */
export type Given =
  | { readonly kind: "files"; readonly name: string; readonly files: readonly GivenFile[] }
  | { readonly kind: "url"; readonly url: string; readonly listed?: readonly ListedFile[] };

export interface GivenFile {
  /** The path inside the folder. For a single file, the file's name. */
  readonly path: string;
  readonly file: Blob;
}

/** A file as listed by `serve-page`. */
export interface ListedFile {
  readonly path: string;
  readonly size: number;
}

export interface OpenArgument {
  readonly given: Given;
  readonly split?: string;
  readonly options?: ReadingOptions;
}

/** A dataset's description. */
export interface Opened {
  readonly format: Format;
  readonly name: string;
  readonly leaves: readonly LeafForm[];
  readonly metadata: readonly LeafForm[];
  readonly episodes?: number;
  readonly steps?: number;
  readonly splits: readonly string[];
  readonly split?: string;
  /** Metadata of the files, as text. */
  readonly about: readonly (readonly [name: string, text: string])[];
  /** The number of bytes of the files; undefined if unknown. */
  readonly bytes?: number;
  /** Whether an episode can be read without the preceding episodes. */
  readonly indexed: boolean;
  /** Whether steps have images from which films can be made. */
  readonly filmable: boolean;
  /** The number of steps per second, if the files state it. */
  readonly fps?: number;
}

/** The progress of reading. */
export interface ReadNews {
  readonly episodes: readonly EpisodeSummary[];
  /** The lengths of all episodes, if the files list them. */
  readonly lengths?: readonly number[];
  /** The number of bytes read from the files since they were opened. */
  readonly bytesRead: number;
  readonly distributions?: readonly Distribution[];
  readonly findings?: Found;
}

export interface Found {
  readonly groups: readonly FindingGroup[];
  readonly faultyEpisodes: number;
  /** The parts of salvaged files that could not be read, as sentences. */
  readonly losses: readonly string[];
}

export interface ReadArgument {
  /** What to read: a quick sample spread over the dataset, or all episodes in order. */
  readonly what: "sample" | "all";
}

export interface ReadResult {
  /** Whether every episode was read. */
  readonly complete: boolean;
}

export interface EpisodeArgument {
  readonly index: number;
}

/** One whole episode. */
export interface EpisodeData {
  readonly index: number;
  readonly length: number;
  readonly columns: readonly LeafColumn[];
  /** The metadata as text. */
  readonly metadata: readonly (readonly [name: string, text: string])[];
}

/** The progress of a search for an episode from the beginning. */
export interface EpisodeNews {
  readonly passed: number;
}

export const EXPORTS = ["tfds", "parquet", "lerobot", "jsonl"] as const;
export type ExportFormat = (typeof EXPORTS)[number];

export interface ExportArgument {
  readonly format: ExportFormat;
  readonly name: string;
  /** The numbers of the omitted episodes. */
  readonly without: readonly number[];
  /** For LeRobot: the number of frames per second. */
  readonly fps: number;
  /** For LeRobot: whether images become films. */
  readonly films: boolean;
  /** The folder that the user chose. Without a folder, a zip is made. */
  readonly folder?: FileSystemDirectoryHandle;
}

export interface ExportNews {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
  /** The number of bytes of the zip, once the files are complete. */
  readonly zipped?: number;
}

export interface ExportResult {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
  readonly files: readonly string[];
  /** The zip, if no folder was chosen. */
  readonly zip?: Blob;
  /** The name of the zip on the private disk, from which the page removes it; undefined if the zip is in memory. */
  readonly onDisk?: string;
}
