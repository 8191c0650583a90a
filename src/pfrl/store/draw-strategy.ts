/** How a sample draws its items: by the table's random state, or as a test prescribes. */

import { mustBe } from "../../base/error.ts";
import type { Draw } from "../../batch/draw.ts";
import type { GrowingTable } from "../../memory/growing-table.ts";
import type { Memory } from "./memory.ts";

export interface DrawStrategy {
  /** n different items into a draw, all alike. */
  uniform(items: GrowingTable, draw: Draw, n: number): void;
  /** n different items by priority, `ratio` of the chance all alike; how many there were. */
  prioritized(items: GrowingTable, draw: Draw, n: number, ratio: number): number;
  /** n different rows of a memory into a draw of single rows, all alike; chance is that of the items beside it. */
  single(items: GrowingTable, memory: Memory, draw: Draw, n: number): void;
  /** Where in each of n items that is longer than `width` steps a run of so many begins. */
  starts(items: GrowingTable, draw: Draw, n: number, width: number): void;
}

export const RANDOM_STRATEGY: DrawStrategy = {
  uniform(items, draw, n) {
    draw.different(items.handle, n);
  },

  prioritized(items, draw, n, ratio) {
    return ratio > 0 ? draw.mixed(items.handle, n, items.chances(n, ratio), ratio) : draw.different(items.handle, n);
  },

  single(items, memory, draw, n) {
    draw.single(items.handle, memory, n);
  },

  starts(items, draw, _, width) {
    draw.chooseStarts(items.handle, width);
  },
};

/** Of n that were asked for only some can be picked. */
export function tooFew(n: number, available: number, itemsName: string): Error {
  return mustBe("TOO_FEW", "n", `at most ${available}, because there are only ${available} ${itemsName}`, n);
}
