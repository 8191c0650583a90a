/** A draw without columns: which items it picked, for who reads their steps one by one. */
import { ROWS, SLOT, START } from "../../core/abi.ts";
import { Filler } from "../../core/filler.ts";
import type { Steps } from "./steps.ts";

/** Of Filler (src/core/filler.ts): the batch has weights. */
export const WEIGHTS = 1;

export class Picks {
  readonly n: number;
  readonly draw: number;
  readonly #steps: Steps;
  readonly #filler: InstanceType<typeof Filler>;

  constructor(steps: Steps, n: number, weighted: boolean) {
    this.n = n;
    this.#steps = steps;
    // No column, but room for one row an item.
    this.#filler = new Filler(steps.engine, n, 1, [], false, weighted ? WEIGHTS : 0);
    this.draw = this.#filler.prepare();
  }

  /** Slots of the items that were picked. */
  get slots(): Uint32Array {
    return this.#column(SLOT).slice();
  }

  /** Where their runs begin; to be written, too. */
  get starts(): Uint32Array {
    return this.#column(START);
  }

  /** The rows of a draw of single rows. */
  get rows(): Uint32Array {
    const { engine, x } = this.#steps;
    const at = (x.draw_column(this.draw, ROWS) >>> 0) / 4;
    return engine.core.u32.slice(at, at + this.n);
  }

  /** What there is to tell of each item, in arrays of its own. */
  info(): { readonly keys: Float64Array; readonly probabilities: Float64Array; readonly weights?: Float64Array } {
    this.#filler.fill(this.draw, this.n);
    return this.#filler.batch.info;
  }

  #column(which: number): Uint32Array {
    const { core } = this.#steps.engine;
    const at = (core.x.draw_column(this.draw, which) >>> 0) / 4;
    return core.u32.subarray(at, at + this.n);
  }
}
