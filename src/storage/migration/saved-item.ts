/** An item of a saved table. */

export interface SavedItem {
  readonly slot: number;
  /** Number of its first row. */
  readonly first: number;
  readonly generation: number;
  readonly length: number;
  readonly timesSampled: number;
  readonly priority: number;
  /** When it was inserted or updated last; without stamps, its place among the others. */
  readonly stamp: number;
}
