/** Where the leaves of a step stand: asked of the core, which places them (assembly/rows/layout.ts), in an instance without an arena. */
import { type Layout, measured, type PlacedLeaf, poolsOf } from "../schema/layout.ts";
import type { FoundLeaf } from "../schema/spec.ts";
import { SectionMemory } from "./section-memory.ts";

/** PLACE, and PLACED behind all of them, in bytes. */
const PLACE = 24;
const PLACED = 16;

/** One for each build that a host gave: it holds nothing between two calls. */
const memories = new WeakMap<object, SectionMemory>();
const OWN = {};

/** Places the leaves of a spec. @param module another build of the core @throws ReplayError SPEC_MISMATCH for leaves that share frames of several sizes */
export function layoutOf(found: readonly FoundLeaf[], module?: WebAssembly.Module): Layout {
  const own = measured(found);
  const pools = poolsOf(own);
  const memory = memories.get(module ?? OWN) ?? new SectionMemory(module);
  memories.set(module ?? OWN, memory);
  const { base, x } = memory;
  const placed = base + PLACE * own.length;
  memory.reserve(PLACE * own.length + PLACED);
  const { view } = memory;
  own.forEach(({ bytes, leaf }, i) => {
    const words = [bytes, leaf.stack ?? 1, leaf.shared === undefined ? 0 : 1];
    for (const [k, word] of words.entries()) view.setUint32(base + PLACE * i + 4 * k, word, true);
  });
  x.layout_place(base, PLACE, own.length, placed);
  const word = (i: number, k: number) => view.getUint32(base + PLACE * i + 4 * k, true);
  const leaves = own.map((leaf, i): PlacedLeaf => ({ ...leaf, kind: word(i, 3), offset: word(i, 4), staged: word(i, 5) }));
  return { leaves, rowBytes: view.getUint32(placed, true), stagedBytes: view.getFloat64(placed + 8, true), pools };
}
