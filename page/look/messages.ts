/** What the room and its worker tell each other. */
import type { Format } from "reprise/rlds";
import type { LeafColumn, LeafForm } from "./model/columns.ts";
import type { Distribution } from "./model/distributions.ts";
import type { EpisodeSummary } from "./model/episode-table.ts";
import type { FindingGroup } from "./model/findings.ts";
import type { ReadingOptions } from "./model/reading-options.ts";

/** What a person gave. */
export type Given =
  | { readonly kind: "files"; readonly name: string; readonly files: readonly GivenFile[] }
  | { readonly kind: "url"; readonly url: string; readonly listed?: readonly ListedFile[] };

export interface GivenFile {
  /** Inside the folder; of a single file its name. */
  readonly path: string;
  readonly file: Blob;
}

/** As `serve-page` lists what is in its folder. */
export interface ListedFile {
  readonly path: string;
  readonly size: number;
}

export interface OpenArgument {
  readonly given: Given;
  readonly split?: string;
  readonly options?: ReadingOptions;
}

/** What a dataset says of itself. */
export interface Opened {
  readonly format: Format;
  readonly name: string;
  readonly leaves: readonly LeafForm[];
  readonly metadata: readonly LeafForm[];
  readonly episodes?: number;
  readonly steps?: number;
  readonly splits: readonly string[];
  readonly split?: string;
  /** What the files say, as text. */
  readonly about: readonly (readonly [name: string, text: string])[];
  /** Of the files; undefined where nobody can tell. */
  readonly bytes?: number;
  /** Whether an episode can be read without those before it. */
  readonly indexed: boolean;
  /** Whether steps have images of which films can be made. */
  readonly filmable: boolean;
  /** Steps a second, where the files say it. */
  readonly fps?: number;
}

/** How far reading is. */
export interface ReadNews {
  readonly episodes: readonly EpisodeSummary[];
  /** Of all episodes, where the files tell them ahead. */
  readonly lengths?: readonly number[];
  /** What was read of the files since they were opened. */
  readonly bytesRead: number;
  readonly distributions?: readonly Distribution[];
  readonly findings?: Found;
}

export interface Found {
  readonly groups: readonly FindingGroup[];
  readonly faultyEpisodes: number;
  /** What could not be read of files that are salvaged, as sentences. */
  readonly losses: readonly string[];
}

export interface ReadArgument {
  /** A sample that is spread over the dataset and read at once; or all of it, in order. */
  readonly what: "sample" | "all";
}

export interface ReadResult {
  /** Whether every episode was read. */
  readonly complete: boolean;
}

export interface EpisodeArgument {
  readonly index: number;
}

/** One episode, whole. */
export interface EpisodeData {
  readonly index: number;
  readonly length: number;
  readonly columns: readonly LeafColumn[];
  /** As text. */
  readonly metadata: readonly (readonly [name: string, text: string])[];
}

/** While an episode is looked for from the beginning. */
export interface EpisodeNews {
  readonly passed: number;
}

export const EXPORTS = ["tfds", "parquet", "lerobot", "jsonl"] as const;
export type ExportFormat = (typeof EXPORTS)[number];

export interface ExportArgument {
  readonly format: ExportFormat;
  readonly name: string;
  /** Episodes that are left out. */
  readonly without: readonly number[];
  /** LeRobot: frames a second. */
  readonly fps: number;
  /** LeRobot: whether images become films. */
  readonly films: boolean;
  /** A folder that the person chose; otherwise a zip is made. */
  readonly folder?: FileSystemDirectoryHandle;
}

export interface ExportNews {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
  /** Of the zip, once the files are whole. */
  readonly zipped?: number;
}

export interface ExportResult {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
  readonly files: readonly string[];
  /** Where no folder was chosen. */
  readonly zip?: Blob;
  /** Its name on the private disk, from which the page removes it; undefined where it is in memory. */
  readonly onDisk?: string;
}
