/** Where an epoch of a table is: what a core's draw of it takes, and what a program may keep. */

/** Where a dataset in epochs stands, as plain data: of this Replay, or of one restored from its snapshot. */
export interface EpochState {
  readonly shuffle: boolean;
  readonly seed: number;
  /** The number of the epoch, from 0. */
  readonly epoch: number;
  /** How far it is: places of its order that are behind it. */
  readonly position: number;
  /** What tells items that came after its start, and the highest slot at its start; 0 if it has not begun. */
  readonly since: number;
  readonly slots: number;
}

/** The same, as draws go on. */
export type EpochPlace = { -readonly [K in keyof EpochState]: EpochState[K] };
