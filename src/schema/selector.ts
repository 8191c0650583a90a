/** Selectors: how a table chooses items. Each kind can be a sampler or a remover. */

import { finite, onlyKeys } from "../base/error.ts";
import { hideFrames } from "../base/stack-trace.ts";

export interface Selector {
  readonly kind: SelectorName;
  /** `prioritized`: weight = priority^exponent. `recency`: weight = age^-exponent. */
  readonly exponent?: number;
  /** `prioritized` only: keep the minimum weight, for importance weights with `normalize: "table"`. */
  readonly withMin?: boolean;
}

/** What the package knows of a kind of selector; assembly/selectors/kinds.ts has what the core knows of it. */
export interface KindInfo {
  /** Which item it picks, as the end of a sentence. */
  readonly picks: string;
  /** Its choice follows from the items alone, never from chance. */
  readonly isDeterministic?: true;
  /** Its choice depends on priorities. */
  readonly usesPriority?: true;
  /** It picks in proportion to priority^exponent. */
  readonly weighs?: true;
  readonly takesExponent?: true;
  readonly takesMin?: true;
  /** As a remover: which items it leaves, if that is known from their ages. */
  readonly leaves?: "newest" | "oldest";
  /** It is no remover. */
  readonly samplesOnly?: true;
  /** As a sampler: bytes per item of its order, whose memory stays untouched as long as only the oldest items leave. */
  readonly orderBytes?: number;
}

export const SELECTOR_KINDS: { readonly [K in SelectorName]: KindInfo } = {
  fifo: { picks: "the oldest", isDeterministic: true, leaves: "newest" },
  lifo: { picks: "the youngest", isDeterministic: true, leaves: "oldest" },
  uniform: { picks: "any one", orderBytes: 8 },
  prioritized: { picks: "one by its priority", usesPriority: true, weighs: true, takesExponent: true, takesMin: true },
  minHeap: { picks: "that of lowest priority", isDeterministic: true, usesPriority: true },
  maxHeap: { picks: "that of highest priority", isDeterministic: true, usesPriority: true },
  recency: { picks: "one by its age", takesExponent: true, samplesOnly: true },
};
/** The highest exponent of `recency`: the weight of the oldest item of the largest table is then still a number with all its bits. */
export const MAX_RECENCY = 32;
/** The names of all selectors. The first is number 1 in the core, and so on. */
export const SELECTORS = ["fifo", "lifo", "uniform", "prioritized", "minHeap", "maxHeap", "recency"] as const;

export type SelectorName = (typeof SELECTORS)[number];

/** A selector of any kind, with what its kind takes. */
export function selectorOf(kind: SelectorName, exponent = 1, withMin = false): Selector {
  const { takesExponent, takesMin } = SELECTOR_KINDS[kind];
  return { kind, ...(takesExponent && { exponent }), ...(takesMin && { withMin }) };
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
 * Each item with probability age^-exponent / total, where age is its rank by insertion among the live items, and the newest has age 1. O(log n), wherever others left
 * A sampler only, as in rank-based replay (Schaul et al., 2016) with age as the rank; with 0 all items are equally likely. Priorities play no part.
 * @param options.exponent a finite number from 0 to 32. Default: 1
 * @throws TypeError, RangeError for another exponent
 */
export function recency(options: { readonly exponent?: number } = {}): Selector {
  hideFrames(recency);
  const { exponent = 1 } = onlyKeys("recency", options, "exponent");
  return selectorOf("recency", finite("exponent", exponent, 0, MAX_RECENCY));
}

/**
 * Each item with probability priority^exponent / total (Schaul et al., 2016, proportional variant). O(log n)
 * Items of priority 0 are never drawn, unless all priorities are 0: then all items are equally likely.
 * @param exponent any finite number; with 0, all items with a priority above 0 are equally likely
 * @param options.withMin for `normalize: "table"`; costs 3 bytes per item
 */
export function prioritized(exponent = 1, options: { withMin?: boolean } = {}): Selector {
  hideFrames(prioritized);
  finite("exponent", exponent);
  return selectorOf("prioritized", exponent, options.withMin ?? false);
}
