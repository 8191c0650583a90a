/** Defines the interface to stored Minari episodes, with one group per episode (episode_0, episode_1 …) as in an HDF5 file. */
import type { StepLeaf } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { Column, ColumnTree } from "../columns/column.ts";

/** An attribute, with its leaf and its value. */
export interface Attribute {
  readonly leaf: StepLeaf;
  readonly data: ColumnData;
}

export interface EpisodeStore {
  /** The name of the store in error messages. */
  readonly name: string;
  readonly maxBytes: number;
  /** Returns the names of the members of a group. */
  names(group: string): Promise<string[]>;
  entry(path: string): Promise<"group" | "dataset" | undefined>;
  /** @param keeps returns whether to read the dataset at a path */
  tree(path: string, keeps?: (path: string) => boolean): Promise<ColumnTree>;
  column(path: string): Promise<Column>;
  /** Returns whether an episode has infos, even if they are not read. */
  hasInfos(group: string): Promise<boolean>;
  /** Returns the attributes of an episode. */
  attributes(group: string): Promise<ReadonlyMap<string, Attribute>>;
  close(): Promise<void>;
}
