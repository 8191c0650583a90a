/** The single transitions of episodes that ended: rows, oldest first. */
import type { Engine } from "../../memory/engine.ts";
import { StandaloneStream } from "../../memory/stream.ts";

export class Memory extends StandaloneStream {
  /** How many have left. */
  #removed = 0;

  constructor(engine: Engine) {
    super(engine, 0);
  }

  /** Lets the n oldest go. */
  override drop(n: number): void {
    super.drop(n);
    this.#removed += n;
  }

  /** Names of all rows, one by one; without those that leave meanwhile, which may be other steps by then. */
  *liveRows(): Generator<number, void> {
    const removedBefore = this.#removed;
    for (const [i, row] of this.rows().entries()) if (i >= this.#removed - removedBefore) yield row;
  }

  /** Lets all go, and gives the memory back. */
  override close(): void {
    this.drop(this.length);
    super.close();
  }
}
