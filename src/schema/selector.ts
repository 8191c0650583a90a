/** Defines the selectors that tables use to choose items. Most kinds can be a sampler or a remover. */

import { finite, onlyKeys } from "../base/error.ts";
import { hideFrames } from "../base/stack-trace.ts";

export interface Selector {
  readonly kind: SelectorName;
  /** The exponent of the weight, which is priority^exponent for `prioritized` and age^-exponent for `recency`. */
  readonly exponent?: number;
  /** Whether the selector tracks the minimum weight, for importance weights with `normalize: "table"`. Only for `prioritized`. */
  readonly withMin?: boolean;
}

/** The properties of a kind of selector in the package. Its properties in the core are in assembly/selectors/kinds.ts. */
export interface KindInfo {
  /** A description of the item that the selector picks, as the end of a sentence. */
  readonly picks: string;
  /** Whether the selector's choice depends only on the items, never on chance. */
  readonly isDeterministic?: true;
  /** Whether the selector's choice depends on priorities. */
  readonly usesPriority?: true;
  /** Whether the selector picks in proportion to priority^exponent. */
  readonly weighs?: true;
  readonly takesExponent?: true;
  readonly takesMin?: true;
  /** The items that remain if the selector is a remover. Set only if the ages of items determine which items remain. */
  readonly leaves?: "newest" | "oldest";
  /** Whether the selector cannot be a remover. */
  readonly samplesOnly?: true;
  /** The bytes per item of a sampler's order. The memory stays untouched while only the oldest items are evicted. */
  readonly orderBytes?: number;
}

export const SELECTOR_KINDS: { readonly [K in SelectorName]: KindInfo } = {
  fifo: { picks: "the oldest", isDeterministic: true, leaves: "newest" },
  lifo: { picks: "the youngest", isDeterministic: true, leaves: "oldest" },
  uniform: { picks: "any item", orderBytes: 8 },
  prioritized: { picks: "an item by its priority", usesPriority: true, weighs: true, takesExponent: true, takesMin: true },
  minHeap: { picks: "the item of lowest priority", isDeterministic: true, usesPriority: true },
  maxHeap: { picks: "the item of highest priority", isDeterministic: true, usesPriority: true },
  recency: { picks: "an item by its age", takesExponent: true, samplesOnly: true },
};
/** The highest exponent of `recency`. With it, the weight of the oldest item of the largest table is still a normal number. */
export const MAX_RECENCY = 32;
/** The names of all selectors. The position of a name, from 1 on, is the number of the selector in the core. */
export const SELECTORS = ["fifo", "lifo", "uniform", "prioritized", "minHeap", "maxHeap", "recency"] as const;

export type SelectorName = (typeof SELECTORS)[number];

/** Returns a selector of any kind, with the options that its kind accepts. */
export function selectorOf(kind: SelectorName, exponent = 1, withMin = false): Selector {
  const { takesExponent, takesMin } = SELECTOR_KINDS[kind];
  return { kind, ...(takesExponent && { exponent }), ...(takesMin && { withMin }) };
}

/** Returns a selector of the oldest item. Costs O(1). */
export const fifo = (): Selector => ({ kind: "fifo" });
/** Returns a selector of the newest item. Costs O(1). */
export const lifo = (): Selector => ({ kind: "lifo" });
/** Returns a selector that selects every item with probability 1 / size. Costs O(1). */
export const uniform = (): Selector => ({ kind: "uniform" });
/**
 * Returns a selector of the item with the lowest priority. Among items of equal priority, it selects the item inserted or updated longest ago. Costs O(log n).
 */
export const minHeap = (): Selector => ({ kind: "minHeap" });
/**
 * Returns a selector of the item with the highest priority. Among items of equal priority, it selects the item inserted or updated longest ago. Costs O(log n).
 */
export const maxHeap = (): Selector => ({ kind: "maxHeap" });

/**
 * Returns a selector that selects each item with probability age^-exponent / total, as in rank-based replay (Schaul et al., 2016) with age as the rank. The age
 * is the rank by insertion among the live items, and the newest item has age 1. With exponent 0, all items are equally likely. Priorities are ignored. Only
 * valid as a sampler. Costs O(log n) after any removals.
 * @param options.exponent a finite number from 0 to 32. Default: 1
 * @throws TypeError, RangeError if the exponent is outside that range
 */
export function recency(options: { readonly exponent?: number } = {}): Selector {
  hideFrames(recency);
  const { exponent = 1 } = onlyKeys("recency", options, "exponent");
  return selectorOf("recency", finite("exponent", exponent, 0, MAX_RECENCY));
}

/**
 * Returns a selector that selects each item with probability priority^exponent / total (Schaul et al., 2016, proportional variant). Items of priority 0 are
 * never drawn, unless all priorities are 0. In that case, all items are equally likely. Costs O(log n).
 * @param exponent a finite number. With 0, all items with a priority above 0 are equally likely. Default: 1
 * @param options.withMin whether to track the minimum weight, for `normalize: "table"`, at 3 bytes per item. Default: false
 * @throws TypeError, RangeError if the exponent is not a finite number
 */
export function prioritized(exponent = 1, options: { withMin?: boolean } = {}): Selector {
  hideFrames(prioritized);
  finite("exponent", exponent);
  return selectorOf("prioritized", exponent, options.withMin ?? false);
}
