/** Defines an item of a saved table. */

export interface SavedItem {
  readonly slot: number;
  /** The number of the item's first row. */
  readonly first: number;
  readonly generation: number;
  readonly length: number;
  readonly timesSampled: number;
  readonly priority: number;
  /** The time of the item's insert or last update; without stamps, the item's position among all items. */
  readonly stamp: number;
}
