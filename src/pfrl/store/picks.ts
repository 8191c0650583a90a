/** A draw without columns: which items it picked, for who reads their steps one by one. */
import type { Draw } from "../../core/draw.ts";
import { Filler, WEIGHTS } from "../../core/filler.ts";
import type { Steps } from "./steps.ts";

export class Picks {
  readonly n: number;
  readonly draw: Draw;
  readonly #filler: Filler;

  constructor(steps: Steps, n: number, weighted: boolean) {
    this.n = n;
    // No column, but room for one row an item.
    this.#filler = new Filler(steps.engine, n, 1, [], false, weighted ? WEIGHTS : 0);
    this.draw = this.#filler.prepare();
  }

  /** Slots of the items that were picked. */
  get slots(): Uint32Array {
    return this.draw.slots(this.n).slice();
  }

  /** Where their runs begin; to be written, too. */
  get starts(): Uint32Array {
    return this.draw.starts(this.n);
  }

  /** The rows of a draw of single rows. */
  get rows(): Uint32Array {
    return this.draw.rows(this.n).slice();
  }

  /** What there is to tell of each item, in arrays of its own. */
  info(): { readonly keys: Float64Array; readonly probabilities: Float64Array; readonly weights?: Float64Array } {
    this.#filler.fill(this.n);
    return this.#filler.batch.info;
  }
}
