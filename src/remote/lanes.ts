/** What an actor's end knows of its lanes: where each will stand when the writer at the other end has taken all. */

import type { Ends } from "../memory/block.ts";
import { endsAlready } from "../tables/ends.ts";
import type { Welcome } from "./handshake.ts";

/** Where a lane stands to the final step of an episode: neither, it is the newest step, it is the next one, it is the newest one and the next step is its value. */
const NONE = 0;
const AT_HAND = 1;
const NEXT = 2;
const VALUE_NEXT = 3;

export class LaneStates {
  readonly #window: Float64Array;
  readonly #episode: Float64Array;
  readonly #final: Uint8Array;
  readonly #keep: number;
  readonly #across: boolean;
  readonly #finalIsNext: boolean;

  constructor(lanes: number, { keep, across, ends }: Welcome) {
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
    return this.#final[lane] === AT_HAND || this.#final[lane] === VALUE_NEXT;
  }

  /** Whether the next step is the final one of an episode, or its value. */
  awaitsFinal(lane: number): boolean {
    return this.#final[lane] === NEXT || this.#final[lane] === VALUE_NEXT;
  }

  step(lane: number): void {
    const final = this.#final[lane];
    if (final === VALUE_NEXT) {
      this.#final[lane] = AT_HAND;
      return;
    }
    if (final === AT_HAND && !this.#across) this.#window[lane] = 0;
    this.#see(lane);
    this.#episode[lane] = final === NEXT ? 0 : (this.#episode[lane] as number) + 1;
    this.#final[lane] = final === NEXT ? AT_HAND : NONE;
  }

  /** The episode ends with a final step. */
  finish(lane: number): void {
    this.#see(lane);
    this.#final[lane] = AT_HAND;
    this.#episode[lane] = 0;
  }

  /** The episode ends by a flag: with the final step that came beside it, or with the next step. One that terminated ends at once, and its final step is zeros so far. */
  flag(lane: number, terminated: boolean): void {
    if (!this.#finalIsNext || terminated) this.finish(lane);
    if (this.#finalIsNext) this.#final[lane] = terminated ? VALUE_NEXT : NEXT;
  }

  /** A plain end; whether there was something to end. */
  end(lane: number): boolean {
    const open = this.#episode[lane] !== 0 || (this.#final[lane] !== NONE && !this.#across) || this.#final[lane] === VALUE_NEXT;
    if (!this.#across) this.#window[lane] = 0;
    this.#episode[lane] = 0;
    this.#final[lane] = NONE;
    return open;
  }

  /** Of rows lane by lane. @throws ReplayError where the row behind a done, which ends its episode already, ends again */
  checkEnds({ terminated, truncated }: Ends, rows: number): void {
    if (!this.#finalIsNext) return;
    const lanes = this.#final.length;
    const isOver = (row: number) => Boolean(terminated?.[row] || truncated?.[row]);
    for (let row = 0; row < rows; row++) {
      const before = row < lanes ? this.awaitsFinal(row) : isOver(row - lanes);
      if (before && isOver(row)) throw endsAlready(row % lanes);
    }
  }

  #see(lane: number): void {
    this.#window[lane] = Math.min((this.#window[lane] as number) + 1, this.#keep);
  }
}
