/** The position of an epoch of a table: the arguments of the core's draw, and the state that a program may keep. */

/** The position of a dataset in epochs as plain data, valid for this Replay or for one restored from its snapshot. */
export interface EpochState {
  readonly shuffle: boolean;
  readonly seed: number;
  /** The number of the epoch, from 0. */
  readonly epoch: number;
  /** Number of positions in its order that are done. */
  readonly position: number;
  /** A mark that separates items that came after its start, and the highest slot at its start; 0 if it has not begun. */
  readonly since: number;
  readonly slots: number;
}

/** The same state, mutable during draws. */
export type EpochPlace = { -readonly [K in keyof EpochState]: EpochState[K] };
