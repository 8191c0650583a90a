/** What an actor's end knows of its lanes: where each will stand when the writer at the other end has taken all. */

import type { EpisodeEnds } from "../memory/block.ts";
import { endsAlready } from "../tables/episode-ends.ts";
import type { WelcomeMessage } from "./wire/messages.ts";

/**
 * Where a lane stands to the final step of an episode: neither, it is the newest step, it is the next one, it is the newest one and the next step is its value; or the next step is that
 * of an episode which was given up, and is dropped.
 */
const NO_FINAL = 0;
const FINAL_IS_NEWEST = 1;
const FINAL_IS_NEXT = 2;
const FINAL_VALUE_IS_NEXT = 3;
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

  /** Steps in the window. */
  length(lane: number): number {
    return this.#window[lane] as number;
  }

  /** Steps in the open episode. */
  episodeSteps(lane: number): number {
    return this.#episode[lane] as number;
  }

  /** Whether the newest step is the final one of an episode. */
  hasFinal(lane: number): boolean {
    return this.#final[lane] === FINAL_IS_NEWEST || this.#final[lane] === FINAL_VALUE_IS_NEXT;
  }

  /** Whether the next step is the final one of an episode, or its value. */
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

  /** The episode ends with a final step. */
  finish(lane: number): void {
    this.#addStep(lane);
    this.#final[lane] = FINAL_IS_NEWEST;
    this.#episode[lane] = 0;
  }

  /** The episode ends by a flag: with the final step that came beside it, or with the next step. One that terminated ends at once, and its final step is zeros so far. */
  flag(lane: number, terminated: boolean): void {
    if (!this.#finalIsNext || terminated) this.finish(lane);
    if (this.#finalIsNext) this.#final[lane] = terminated ? FINAL_VALUE_IS_NEXT : FINAL_IS_NEXT;
  }

  /** A plain end; whether there was something to end. */
  end(lane: number): boolean {
    const wasOpen = this.#episode[lane] !== 0 || (this.#final[lane] !== NO_FINAL && !this.#across) || this.#final[lane] === FINAL_VALUE_IS_NEXT;
    if (!this.#across) this.#window[lane] = 0;
    this.#episode[lane] = 0;
    this.#final[lane] = NO_FINAL;
    return wasOpen;
  }

  /** Gives up the open episode; whether there was one. */
  discard(lane: number): boolean {
    const finalIsNext = this.#final[lane] === FINAL_IS_NEXT;
    const wasOpen = (this.#episode[lane] !== 0 || finalIsNext) && this.end(lane);
    if (finalIsNext) this.#final[lane] = DROPPED_IS_NEXT;
    return wasOpen;
  }

  /** Of rows lane by lane. @throws ReplayError where the row behind a done, which ends its episode already, ends again */
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
