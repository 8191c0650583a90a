/** Declares the parts of a writer that only the package's own modules use. */
import type { ColumnSet } from "../schema/columns.ts";
import type { ItemOptions, ResolvedWriterOptions } from "./rules.ts";
import type { AnyTable } from "./table.ts";

/** The options of a saved writer, and the state that its options and streams do not include (assembly/writer/dues.ts). */
export interface SavedWriterOptions extends ResolvedWriterOptions {
  readonly state?: readonly number[];
}

/** The properties of a writer that its options do not include. */
export interface WriterTraits {
  /** Whether the writer intentionally has no rules. */
  readonly createsItems?: boolean;
  /** Whether the option `lanes` was passed. If so, values of a single lane may also have a dimension of lanes. */
  readonly isVector?: boolean;
}

/** The internals of a writer for the package's own modules. */
export interface WriterInternals {
  /** The writer's part of a snapshot, apart from the streams. */
  readonly saved: SavedWriterOptions;
  /** Records that the state of a writer of an earlier run was restored. */
  resume(): void;
  /**
   * Runs `createItem` for `length` steps that end `behind` steps before the newest step.
   * @param isEarlier 1 if the writer has already made an item for the table that ends later
   */
  createItem(table: string, options: ItemOptions<ColumnSet<unknown>>, behind: number, isEarlier: number): Promise<void> | undefined;
  /**
   * Creates an item like `createItem`, with the number of a column layout and without a promise. Allocates nothing.
   * @returns whether the item is in the table
   */
  insert(table: AnyTable, length: number, priority: number, behind: number, layout: number, isEarlier: number): boolean;
  /** Returns how many items would wait for a table's rate limiter after n more inserts. */
  waiting(table: AnyTable, n: number): number;
}
