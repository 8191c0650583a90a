/** Defines what opening a recording takes and returns. */
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep } from "../../model/dataset.ts";
import type { ReadEpisode, ReadOptions, RldsReader } from "../reader.ts";
import type { Source } from "../sources/open-source.ts";

export interface RecordingOptions extends ReadOptions {
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

/** The folder of a recording, which may be any source. A directory from `opfs` or `memory` of reprise/storage can be read while a recorder writes to it. */
export type RecordingSource = Source;

/** A recording as a dataset. Its numbers of episodes and steps are known before a step is read. */
export interface Recording<S = RldsStep> extends RldsReader<S> {
  readonly episodes: number;
  readonly steps: number;
  /**
   * Returns the episodes from number `episode` on (0, 1, …). The result is empty if the episode does not exist.
   * @throws RangeError if `episode` is not an integer ≥ 0
   */
  startingAt(episode: number): AsyncIterable<ReadEpisode<S>>;
  /** Returns the number of steps per episode, in order. Costs O(episodes). */
  lengths(): Promise<readonly number[]>;
}
