/** Selectors: how a table chooses items. Each of the six can be a sampler or a remover. */
import { pointAtCallersOf } from "../base/caller.ts";
import { finite } from "../base/error.ts";

/** The names of all selectors. The first is number 1 in the core, and so on. */
export const SELECTORS = ["fifo", "lifo", "uniform", "prioritized", "minHeap", "maxHeap"] as const;

export type SelectorName = (typeof SELECTORS)[number];

export interface Selector {
  readonly kind: SelectorName;
  /** `prioritized` only: weight = priority^exponent. */
  readonly exponent?: number;
  /** `prioritized` only: keep the minimum weight, for importance weights with `normalize: "table"`. */
  readonly withMin?: boolean;
}

/** The oldest item. O(1) */
export const fifo = (): Selector => ({ kind: "fifo" });
/** The youngest item. O(1) */
export const lifo = (): Selector => ({ kind: "lifo" });
/** Every item with probability 1 / size. O(1) */
export const uniform = (): Selector => ({ kind: "uniform" });
/** The item of lowest priority; among equals the one inserted or updated longest ago. O(log n) */
export const minHeap = (): Selector => ({ kind: "minHeap" });
/** The item of highest priority; among equals the one inserted or updated longest ago. O(log n) */
export const maxHeap = (): Selector => ({ kind: "maxHeap" });

/**
 * Each item with probability priority^exponent / total (Schaul et al., 2016, proportional variant). O(log n)
 * Items of priority 0 are never drawn, unless all priorities are 0: then all items are equally likely.
 * @param exponent any finite number; with 0, all items with a priority above 0 are equally likely
 * @param options.withMin for `normalize: "table"`; costs 3 bytes per item
 */
export function prioritized(exponent = 1, options: { withMin?: boolean } = {}): Selector {
  pointAtCallersOf(prioritized);
  finite("exponent", exponent);
  return { kind: "prioritized", exponent, withMin: options.withMin ?? false };
}
