/** Defines the common interface of all file readers, which is a dataset with information about its source. */
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

/** An episode that a reader returns. Its steps are columns. */
export interface ReadEpisode<S = RldsStep> extends RldsEpisode<S> {
  readonly steps: StepColumns<S>;
  /** The kind of the last step. With "unknown", the RLDS rule applies, under which a step with `is_last` is a final observation. */
  readonly [FINAL_STEP]: FinalStep | "unknown";
}

/** A part of the files that the reader skips. */
export interface Unread {
  readonly what: string;
  /** The option with which the part is read. */
  readonly remedy: string;
}

/** A dataset that can be iterated repeatedly. Each iteration reads the files again. */
export interface RldsReader<S = RldsStep> extends AsyncIterable<ReadEpisode<S>> {
  readonly format: Format;
  /** The name of the dataset according to its files, otherwise the name of the file or folder. */
  readonly name: string;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  /** The number of episodes, if it is known before the episodes are read. */
  readonly episodes?: number;
  readonly steps?: number;
  /** The names of the splits. `split` is the split that is read. Both are undefined if there are no splits. */
  readonly splits?: readonly string[];
  readonly split?: string;
  /** The metadata in the files, such as the licence, the description and the environment. */
  readonly about: { readonly [key: string]: unknown };
  /** The parts of the files that the options leave out, each with a remedy. */
  readonly unread?: readonly Unread[];
  /** The videos to which leaves `{path, timestamp}` of steps refer. writeLeRobot copies them. Undefined if no leaf refers to videos. */
  readonly films?: Films;
  /**
   * Returns the episodes from number `episode` on (0, 1, …) without reading earlier episodes. The result is empty after the last episode. Absent if the files
   * do not state the places of episodes (TFDS, JSON lines). The index of the files is read only once, in the first call that needs it.
   * @throws RangeError if `episode` is not an integer ≥ 0
   */
  startingAt?(episode: number): AsyncIterable<ReadEpisode<S>>;
  /**
   * Returns the number of steps per episode in order, without reading steps. Absent if the files do not state these numbers. Costs O(episodes), or O(rows) if a
   * column marks the ends.
   */
  lengths?(): Promise<readonly number[]>;
  /** The parts that could not be read so far. The list grows while episodes are read. Absent if the option `salvage` is not set. */
  readonly losses?: readonly SourceLoss[];
  /** Closes the files. */
  close(): Promise<void>;
}

/** The options of every reader. */
export interface ReadOptions extends SelectionOptions {
  readonly signal?: AbortSignal;
  /** Whether to read the intact parts of damaged or incomplete files and report the rest in `losses`. Default: false, so the first damage throws. */
  readonly salvage?: boolean;
  /** The maximum memory of one record, page or row group, in bytes. A larger size is treated as damage. Default: 1 GiB. */
  readonly maxBytes?: number;
}

/** The names of the options of every reader, for lists in messages. */
export const READ_OPTIONS = `${SELECTION_OPTIONS}, salvage, signal, maxBytes`;
