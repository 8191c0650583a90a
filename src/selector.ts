/** Selectors: how a table picks an item. The same six serve as sampler and as remover. */
import { pointAtCallersOf } from "./caller.ts";
import { FIFO, LIFO, MAX_HEAP, MIN_HEAP, PRIORITIZED, TOGETHER, UNIFORM, WITH_MIN } from "./core/abi.ts";
import { finite } from "./error.ts";

export type SelectorName = "fifo" | "lifo" | "uniform" | "prioritized" | "minHeap" | "maxHeap";

export interface Selector {
  readonly kind: SelectorName;
  /** `prioritized` only: weight = priority^exponent. */
  readonly exponent?: number;
  /** `prioritized` only: keep the least weight, for importance weights that are normalised by the whole table. */
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
/** The item of least priority; among equals the least recently inserted or updated. O(log n) */
export const minHeap = (): Selector => ({ kind: "minHeap" });
/** The item of greatest priority; among equals the least recently inserted or updated. O(log n) */
export const maxHeap = (): Selector => ({ kind: "maxHeap" });

/**
 * Each item with probability priority^exponent / total (Schaul et al., 2016, proportional variant). O(log n)
 * Items of priority 0 are never drawn, except where all are 0: then all alike.
 * @param exponent any finite number; 0 draws all items with a priority above 0 alike
 * @param options.withMin for `normalize: "table"`; 3 bytes an item
 */
export function prioritized(exponent = 1, options: { withMin?: boolean } = {}): Selector {
  pointAtCallersOf(prioritized);
  finite("exponent", exponent);
  return { kind: "prioritized", exponent, withMin: options.withMin ?? false };
}

/** The kinds of a table's two roles as the core takes them. One structure serves both where they keep the same order. */
export function kindsOf(sampler: Selector, remover: Selector): { sampler: number; remover: number } {
  const [drawn, left] = [KINDS[sampler.kind], KINDS[remover.kind]];
  const together = Math.max(drawn, left) <= KINDS.lifo || (drawn === left && sampler.exponent === remover.exponent);
  return { sampler: drawn + (sampler.withMin ? WITH_MIN : 0), remover: left + (together ? TOGETHER : remover.withMin ? WITH_MIN : 0) };
}

/** Whether a value is a selector, made by one of the functions above or read from a snapshot. */
export function isSelector(value: unknown): value is Selector {
  const { kind, exponent = 1 } = (value ?? {}) as Selector;
  return Object.hasOwn(KINDS, kind) && Number.isFinite(exponent);
}
