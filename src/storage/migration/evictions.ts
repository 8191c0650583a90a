/** Chooses the items to evict from a table that becomes smaller, in the same way as the table's remover. */
import type { ResolvedTableOptions } from "../../schema/table-options.ts";
import type { SavedItem } from "./saved-item.ts";

/**
 * Returns the items to evict, in order: first the items that have reached `maxTimesSampled`, then the remover's choices until the limits are met.
 * @param items the items, oldest first @param seed the seed of the remover's random draws
 */
export function evictionsOf(items: readonly SavedItem[], options: ResolvedTableOptions, seed: number): readonly SavedItem[] {
  const { maxSize, maxSteps, maxTimesSampled } = options;
  const used = items.filter(({ timesSampled }) => timesSampled >= maxTimesSampled);
  const rest = items.filter(({ timesSampled }) => timesSampled < maxTimesSampled);
  let steps = rest.reduce((sum, { length }) => sum + length, 0);
  if (rest.length <= maxSize && steps <= maxSteps) return used;
  const leaving: SavedItem[] = [];
  for (const item of inOrder(rest, options, seed)) {
    if (rest.length - leaving.length <= maxSize && steps <= maxSteps) break;
    leaving.push(item);
    steps -= item.length;
  }
  return [...used, ...leaving];
}

/** Returns the items in the order in which the remover chooses them. */
function inOrder(items: readonly SavedItem[], { remover: { kind, exponent = 1 } }: ResolvedTableOptions, seed: number): readonly SavedItem[] {
  if (kind === "fifo") return items;
  if (kind === "lifo") return [...items].reverse();
  if (kind === "minHeap") return [...items].sort((a, b) => a.priority - b.priority || a.stamp - b.stamp);
  if (kind === "maxHeap") return [...items].sort((a, b) => b.priority - a.priority || a.stamp - b.stamp);
  // The draws are without replacement. Each item gets an exponential variate with its weight as the rate, and the item with the smallest variate is first
  // (Efraimidis and Spirakis, 2006).
  const random = generator(seed);
  const weight = ({ priority }: SavedItem) => (kind === "prioritized" ? (priority === 0 ? 0 : priority ** exponent) : 1);
  const isFlat = items.every((item) => weight(item) === 0);
  const times = new Map(items.map((item) => [item, -Math.log(1 - random()) / (isFlat ? 1 : weight(item))]));
  return [...items].sort((a, b) => compare(times.get(a) as number, times.get(b) as number));
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns a generator of random numbers from 0 (inclusive) to 1 (exclusive), using splitmix32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32;
  };
}
