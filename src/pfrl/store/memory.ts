/** Stores the single transitions of ended episodes as rows, oldest first. */
import type { Engine } from "../../memory/engine.ts";
import { StandaloneStream } from "../../memory/stream.ts";

export class Memory extends StandaloneStream {
  /** The number of rows that were evicted so far. */
  #removed = 0;

  constructor(engine: Engine) {
    super(engine, 0);
  }

  /** Evicts the n oldest rows. */
  override drop(n: number): void {
    super.drop(n);
    this.#removed += n;
  }

  /** Yields all rows one by one, except rows that were evicted in the meantime, since such rows may be reused for other steps. */
  *liveRows(): Generator<number, void> {
    const removedBefore = this.#removed;
    for (const [i, row] of this.rows().entries()) if (i >= this.#removed - removedBefore) yield row;
  }

  /** Evicts all rows and frees the memory. */
  override close(): void {
    this.drop(this.length);
    super.close();
  }
}
