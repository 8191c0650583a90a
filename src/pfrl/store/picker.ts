/** How a sample picks its items: by the table's random state, or as a test says. */

import { DISTINCT, type Exports } from "../../core/abi.ts";
import type { Engine } from "../../core/engine.ts";
import type { Items } from "./items.ts";
import type { Memory } from "./memory.ts";

export interface Picker {
  /** n different items into a draw, all alike. */
  alike(items: Items, draw: number, n: number): void;
  /** n different items by priority, `ratio` of the chance all alike; how many there were. */
  weighed(items: Items, draw: number, n: number, ratio: number): number;
  /** n different rows of a memory into a draw of single rows, all alike; chance is that of the items beside it. */
  single(items: Items, memory: Memory, draw: number, n: number): void;
  /** Where in items longer than `width` steps a run of so many begins. */
  starts(items: Items, draw: number, width: number): void;
}

export class RandomPicker implements Picker {
  readonly #engine: Engine;
  readonly #x: Exports;

  constructor(engine: Engine, x: Exports) {
    this.#engine = engine;
    this.#x = x;
  }

  alike(items: Items, draw: number, n: number): void {
    this.#engine.core.x.table_sample(items.handle, draw, n, DISTINCT, 0);
    this.#engine.core.x.table_close_draw(items.handle);
  }

  weighed(items: Items, draw: number, n: number, ratio: number): number {
    const { core } = this.#engine;
    if (ratio > 0) {
      let alike = 0;
      for (let i = 0; i < n; i++) alike += Number(this.#x.items_chance(items.handle) < ratio);
      return this.#x.draw_mixed(draw, items.handle, n, alike, ratio);
    }
    const drawn = core.x.table_sample(items.handle, draw, n, DISTINCT, 0);
    core.x.table_close_draw(items.handle);
    return drawn;
  }

  single(items: Items, memory: Memory, draw: number, n: number): void {
    this.#x.draw_single(draw, items.handle, memory.handle, n);
  }

  starts(items: Items, draw: number, width: number): void {
    this.#x.draw_starts(draw, items.handle, width);
  }
}
