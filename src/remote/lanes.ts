/** Tracks the state that an actor's lanes will have after the writer at the other end has appended everything. */

import type { EpisodeEnds } from "../memory/block.ts";
import { endsAlready } from "../tables/episode-ends.ts";
import type { WelcomeMessage } from "./wire/messages.ts";

/** The state of a lane with respect to final steps. In this state, the newest step is not a final step, and no final step is expected. */
const NO_FINAL = 0;
/** The newest step is the final step of an episode. */
const FINAL_IS_NEWEST = 1;
/** The next step is the final step of an episode. */
const FINAL_IS_NEXT = 2;
/** The newest step is the final step of an episode, and the next step fills in its values. */
const FINAL_VALUE_IS_NEXT = 3;
/** The next step is the final step of a discarded episode, and is dropped. */
const DROPPED_IS_NEXT = 4;

export class LaneStates {
  readonly #window: Float64Array;
  readonly #episode: Float64Array;
  readonly #final: Uint8Array;
  readonly #keep: number;
  readonly #across: boolean;
  readonly #finalIsNext: boolean;

  constructor(lanes: number, { keep, across, ends }: WelcomeMessage) {
    this.#window = new Float64Array(lanes);
    this.#episode = new Float64Array(lanes);
    this.#final = new Uint8Array(lanes);
    this.#keep = keep;
    this.#across = across;
    this.#finalIsNext = ends.autoreset === "nextStep";
  }

  /** Returns the number of steps in the window. */
  length(lane: number): number {
    return this.#window[lane] as number;
  }

  /** Returns the number of steps in the open episode. */
  episodeSteps(lane: number): number {
    return this.#episode[lane] as number;
  }

  /** Returns whether the newest step is the final step of an episode. */
  hasFinal(lane: number): boolean {
    return this.#final[lane] === FINAL_IS_NEWEST || this.#final[lane] === FINAL_VALUE_IS_NEXT;
  }

  /** Returns whether the next step is the final step of an episode, fills in the values of a final step, or is dropped. */
  awaitsFinal(lane: number): boolean {
    return (this.#final[lane] as number) >= FINAL_IS_NEXT;
  }

  step(lane: number): void {
    const final = this.#final[lane];
    if (final === FINAL_VALUE_IS_NEXT) {
      this.#final[lane] = FINAL_IS_NEWEST;
      return;
    }
    if (final === DROPPED_IS_NEXT) {
      this.#final[lane] = NO_FINAL;
      return;
    }
    if (final === FINAL_IS_NEWEST && !this.#across) this.#window[lane] = 0;
    this.#addStep(lane);
    this.#episode[lane] = final === FINAL_IS_NEXT ? 0 : (this.#episode[lane] as number) + 1;
    this.#final[lane] = final === FINAL_IS_NEXT ? FINAL_IS_NEWEST : NO_FINAL;
  }

  /** Ends the episode with a final step. */
  finish(lane: number): void {
    this.#addStep(lane);
    this.#final[lane] = FINAL_IS_NEWEST;
    this.#episode[lane] = 0;
  }

  /**
   * Ends the episode with a flag: the final step is appended now, or is the next step. A terminated episode ends immediately, and its final step is zeros until
   * the next step.
   */
  flag(lane: number, terminated: boolean): void {
    if (!this.#finalIsNext || terminated) this.finish(lane);
    if (this.#finalIsNext) this.#final[lane] = terminated ? FINAL_VALUE_IS_NEXT : FINAL_IS_NEXT;
  }

  /** Ends the episode without a final step. Returns whether there was an episode to end. */
  end(lane: number): boolean {
    const wasOpen = this.#episode[lane] !== 0 || (this.#final[lane] !== NO_FINAL && !this.#across) || this.#final[lane] === FINAL_VALUE_IS_NEXT;
    if (!this.#across) this.#window[lane] = 0;
    this.#episode[lane] = 0;
    this.#final[lane] = NO_FINAL;
    return wasOpen;
  }

  /** Discards the open episode. Returns whether there was an open episode. */
  discard(lane: number): boolean {
    const finalIsNext = this.#final[lane] === FINAL_IS_NEXT;
    const wasOpen = (this.#episode[lane] !== 0 || finalIsNext) && this.end(lane);
    if (finalIsNext) this.#final[lane] = DROPPED_IS_NEXT;
    return wasOpen;
  }

  /**
   * Checks the episode ends of rows, which are ordered by time and lane.
   * @throws ReplayError if the row after an end, which completes that episode, ends again
   */
  checkEnds({ terminated, truncated }: EpisodeEnds, rows: number): void {
    if (!this.#finalIsNext) return;
    const lanes = this.#final.length;
    const isEnd = (row: number) => Boolean(terminated?.[row] || truncated?.[row]);
    for (let row = 0; row < rows; row++) {
      const endsBefore = row < lanes ? this.awaitsFinal(row) : isEnd(row - lanes);
      if (endsBefore && isEnd(row)) throw endsAlready(row % lanes);
    }
  }

  #addStep(lane: number): void {
    this.#window[lane] = Math.min((this.#window[lane] as number) + 1, this.#keep);
  }
}
