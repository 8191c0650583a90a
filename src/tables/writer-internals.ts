/** Parts of a writer that only the package's own modules use. */
import type { ColumnSet } from "../schema/columns.ts";
import type { ItemOptions, ResolvedWriterOptions } from "./rules.ts";
import type { AnyTable } from "./table.ts";

/** Options of a saved writer, and the state that neither they nor its streams have (assembly/writer/dues.ts). */
export interface SavedWriterOptions extends ResolvedWriterOptions {
  readonly state?: readonly number[];
}

/** What a writer shows to the package's own modules alone. */
export interface WriterInternals {
  /** What a snapshot stores of the writer in addition to its streams. */
  readonly saved: SavedWriterOptions;
  /** Notes that the state of a writer of an earlier run was restored. */
  resume(): void;
  /** `createItem`, of `length` steps that end `behind` the newest one. @param isEarlier 1 if an item that the writer made for the table before ends later */
  createItem(table: string, options: ItemOptions<ColumnSet<unknown>>, behind: number, isEarlier: number): Promise<void> | undefined;
  /** The same with the number of a column layout, and without a promise. Allocates nothing. @returns whether the item is in the table */
  insert(table: AnyTable, length: number, priority: number, behind: number, layout: number, isEarlier: number): boolean;
  /** How many items would wait for a table's rate limiter if it got n more. */
  waiting(table: AnyTable, n: number): number;
}
