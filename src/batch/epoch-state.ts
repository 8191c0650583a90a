/** Defines the position in an epoch of a table: the arguments of the core's draw, and the state that a program may keep. */

/**
 * The position of a dataset in its epochs, as plain data. It is valid for the Replay that it comes from, and for a Replay restored from a snapshot of that
 * Replay.
 */
export interface EpochState {
  readonly shuffle: boolean;
  readonly seed: number;
  /** The number of the epoch, from 0. */
  readonly epoch: number;
  /** The number of positions that the loop has passed in the order of the epoch. */
  readonly position: number;
  /**
   * A mark that distinguishes items inserted after the beginning of the epoch from earlier items. `slots` is the highest slot at that time. Both are 0 if the
   * epoch has not begun.
   */
  readonly since: number;
  readonly slots: number;
}

/** The same state in a mutable form, for draws. */
export type EpochPlace = { -readonly [K in keyof EpochState]: EpochState[K] };
