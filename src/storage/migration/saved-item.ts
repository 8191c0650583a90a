/** Defines an item of a saved table. */

export interface SavedItem {
  readonly slot: number;
  /** The number of its first row. */
  readonly first: number;
  readonly generation: number;
  readonly length: number;
  readonly timesSampled: number;
  readonly priority: number;
  /** The time of its insert or last update; without stamps, its position among the others. */
  readonly stamp: number;
}
