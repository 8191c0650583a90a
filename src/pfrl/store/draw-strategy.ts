/** Defines how a sample draws its items: with the table's random state, or with picks that a test prescribes. */

import { mustBe } from "../../base/error.ts";
import type { Draw } from "../../batch/draw.ts";
import type { GrowingTable } from "../../memory/growing-table.ts";
import type { Memory } from "./memory.ts";

export interface DrawStrategy {
  /** Draws n different items uniformly. */
  uniform(items: GrowingTable, draw: Draw, n: number): void;
  /** Draws n different items by priority, with a share `ratio` of uniform draws. Returns the number of items drawn. */
  prioritized(items: GrowingTable, draw: Draw, n: number, ratio: number): number;
  /** Draws n different rows of a memory uniformly as single rows, using the random state of the items. */
  single(items: GrowingTable, memory: Memory, draw: Draw, n: number): void;
  /** Draws the first step of a run of `width` steps in each of the n drawn items that have more steps. */
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

/** Returns the error for a sample of n items if fewer exist. */
export function tooFew(n: number, available: number, itemsName: string): Error {
  return mustBe("TOO_FEW", "n", `at most ${available}, because there are only ${available} ${itemsName}`, n);
}
