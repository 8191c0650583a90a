/** Where Minari's episodes are: a group each, called episode_0, episode_1 …, of an HDF5 file, or what looks like it. */
import type { StepLeaf } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { Column, ColumnTree } from "../columns/column.ts";

/** One value and what it is. */
export interface Attribute {
  readonly leaf: StepLeaf;
  readonly data: ColumnData;
}

export interface EpisodeStore {
  /** As messages call it. */
  readonly name: string;
  readonly maxBytes: number;
  /** What is in a group. */
  names(group: string): Promise<string[]>;
  entry(path: string): Promise<"group" | "dataset" | undefined>;
  /** @param keeps whether the dataset at a path is read */
  tree(path: string, keeps?: (path: string) => boolean): Promise<ColumnTree>;
  column(path: string): Promise<Column>;
  /** Whether an episode has infos, read or not. */
  hasInfos(group: string): Promise<boolean>;
  /** What is known of an episode as a whole. */
  attributes(group: string): Promise<ReadonlyMap<string, Attribute>>;
  close(): Promise<void>;
}
