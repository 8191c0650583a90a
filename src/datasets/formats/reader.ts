/** What every reader of files gives: a dataset that knows where it is from. */
import type { RldsEpisode, RldsStep, StepSpec } from "../model/dataset.ts";
import type { FINAL_STEP, FinalStep } from "../model/final-step.ts";
import type { StepColumns } from "../model/step-columns.ts";
import type { SourceLoss } from "./damage.ts";
import type { Films } from "./film-references.ts";
import { SELECTION_OPTIONS, type SelectionOptions } from "./selection/selection.ts";

export type Format =
  | "tfds"
  | "minari"
  | "d4rl"
  | "robomimic"
  | "maniskill"
  | "aloha"
  | "d3rlpy"
  | "lerobot"
  | "parquet"
  | "jsonl"
  | "npz"
  | "zarr"
  | "mcap"
  | "csv"
  | "tfrecord"
  | "journal"
  | "snapshot"
  | "recording";

/** An episode as the readers give it: its steps are there, as columns. */
export interface ReadEpisode<S = RldsStep> extends RldsEpisode<S> {
  readonly steps: StepColumns<S>;
  /** The kind of the last step. "unknown": RLDS decides, so that a step which is_last is a final observation. */
  readonly [FINAL_STEP]: FinalStep | "unknown";
}

/** A part of the files that is not read. */
export interface Unread {
  readonly what: string;
  /** What reads it: an option. */
  readonly remedy: string;
}

/** Can be gone through again and again; each time reads the files anew. */
export interface RldsReader<S = RldsStep> extends AsyncIterable<ReadEpisode<S>> {
  readonly format: Format;
  /** Of the dataset, as its files say it, or else the file's or folder's. */
  readonly name: string;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  /** How many there are, where the files say so before they are read. */
  readonly episodes?: number;
  readonly steps?: number;
  /** The names of its splits, where it has any, and the one that is read. */
  readonly splits?: readonly string[];
  readonly split?: string;
  /** What the files say of themselves: licence, description, environment. */
  readonly about: { readonly [key: string]: unknown };
  /** What the files have and the options leave out, each with a remedy. */
  readonly unread?: readonly Unread[];
  /** The films that leaves `{path, timestamp}` of steps refer to; writeLeRobot copies them. Undefined if there are none. */
  readonly films?: Films;
  /**
   * The episodes from number `episode` on (0, 1, …), without reading those before it; past the last one there are none. Absent where nothing in the files says where an
   * episode is: TFDS, JSON lines. What says it is read once, the first time that it is needed.
   * @throws RangeError for what is no whole number from 0 on
   */
  startingAt?(episode: number): AsyncIterable<ReadEpisode<S>>;
  /** Steps of each episode, in their order, without the steps themselves. Absent where files do not say them ahead. O(episodes), or O(rows) of a column that says where they end. */
  lengths?(): Promise<readonly number[]>;
  /** What could not be read so far, with the option `salvage`: it grows while episodes are read. Absent without that option. */
  readonly losses?: readonly SourceLoss[];
  /** Lets go of the files. */
  close(): Promise<void>;
}

/** Options that every reader takes. */
export interface ReadOptions extends SelectionOptions {
  readonly signal?: AbortSignal;
  /** Whether what is whole is read of damaged or incomplete files, and the rest reported in `losses`; else the first damage is an error. */
  readonly salvage?: boolean;
  /** The most bytes that one record, page or row group may take in memory; 1 GiB where it is left out. More is a file that is not what it says. */
  readonly maxBytes?: number;
}

/** The names of these options, as lists of options have them. */
export const READ_OPTIONS = `${SELECTION_OPTIONS}, salvage, signal, maxBytes`;
