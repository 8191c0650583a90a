/** Selectors: how a table chooses items. Each of the six can be a sampler or a remover. */
import { pointAtCallersOf } from "./caller.ts";
import { FIFO, LIFO, MAX_HEAP, MIN_HEAP, PRIORITIZED, TOGETHER, UNIFORM, WITH_MIN } from "./core/abi.ts";
import { finite } from "./error.ts";

export type SelectorName = "fifo" | "lifo" | "uniform" | "prioritized" | "minHeap" | "maxHeap";

export interface Selector {
  readonly kind: SelectorName;
  /** `prioritized` only: weight = priority^exponent. */
  readonly exponent?: number;
  /** `prioritized` only: keep the minimum weight, for importance weights with `normalize: "table"`. */
  readonly withMin?: boolean;
}

const KINDS: { readonly [K in SelectorName]: number } = {
  fifo: FIFO,
  lifo: LIFO,
  uniform: UNIFORM,
  prioritized: PRIORITIZED,
  minHeap: MIN_HEAP,
  maxHeap: MAX_HEAP,
};

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

/** The numbers of a table's sampler and remover for the core. One structure serves both if they keep the same order. */
export function kindsOf(sampler: Selector, remover: Selector): { sampler: number; remover: number } {
  const [drawn, left] = [KINDS[sampler.kind], KINDS[remover.kind]];
  const together = Math.max(drawn, left) <= KINDS.lifo || (drawn === left && sampler.exponent === remover.exponent);
  return { sampler: drawn + (sampler.withMin ? WITH_MIN : 0), remover: left + (together ? TOGETHER : remover.withMin ? WITH_MIN : 0) };
}

/** Whether a value is a selector, from one of the functions above or from a snapshot. */
export function isSelector(value: unknown): value is Selector {
  const { kind, exponent = 1 } = (value ?? {}) as Selector;
  return Object.hasOwn(KINDS, kind) && Number.isFinite(exponent);
}
