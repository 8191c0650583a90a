/** Selectors: how a table chooses items. Each kind can be a sampler or a remover. */

import { finite } from "../base/error.ts";
import { hideFrames } from "../base/stack-trace.ts";

export interface Selector {
  readonly kind: SelectorName;
  /** `prioritized` only: weight = priority^exponent. */
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
}

export const SELECTOR_KINDS: { readonly [K in SelectorName]: KindInfo } = {
  fifo: { picks: "the oldest", isDeterministic: true, leaves: "newest" },
  lifo: { picks: "the youngest", isDeterministic: true, leaves: "oldest" },
  uniform: { picks: "any one" },
  prioritized: { picks: "one by its priority", usesPriority: true, weighs: true, takesExponent: true, takesMin: true },
  minHeap: { picks: "that of lowest priority", isDeterministic: true, usesPriority: true },
  maxHeap: { picks: "that of highest priority", isDeterministic: true, usesPriority: true },
};
/** The names of all selectors. The first is number 1 in the core, and so on. */
export const SELECTORS = ["fifo", "lifo", "uniform", "prioritized", "minHeap", "maxHeap"] as const;

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
