/** Computes the layout of a step's leaves with the core (assembly/rows/layout.ts), in an instance without an arena. */
import { type Layout, measureLeaves, type PlacedLeaf, poolsOf } from "../schema/layout.ts";
import type { FoundLeaf } from "../schema/spec.ts";
import { SectionMemory } from "./section-memory.ts";

/** The number of bytes of PLACE, and of PLACED, which follows all PLACEs. */
const PLACE = 24;
const PLACED = 12;

/** The memory in which layouts are computed, one per build of the core. No data in it is needed after a call. */
const memories = new WeakMap<object, SectionMemory>();
const DEFAULT_MODULE = {};

/** Places the leaves of a spec. @param module another build of the core @throws ReplayError SPEC_MISMATCH if leaves share frames of several sizes */
export function layoutOf(found: readonly FoundLeaf[], module?: WebAssembly.Module): Layout {
  const measuredLeaves = measureLeaves(found);
  const pools = poolsOf(measuredLeaves);
  const memory = memories.get(module ?? DEFAULT_MODULE) ?? new SectionMemory(module);
  memories.set(module ?? DEFAULT_MODULE, memory);
  const { base, x } = memory;
  const resultAt = base + PLACE * measuredLeaves.length;
  memory.reserve(PLACE * measuredLeaves.length + PLACED);
  const { view } = memory;
  measuredLeaves.forEach(({ bytes, leaf }, i) => {
    const words = [bytes, leaf.stack ?? 1, leaf.shared === undefined ? 0 : 1];
    for (const [k, word] of words.entries()) view.setUint32(base + PLACE * i + 4 * k, word, true);
  });
  x.layout_place(base, PLACE, measuredLeaves.length, resultAt);
  const word = (i: number, k: number) => view.getUint32(base + PLACE * i + 4 * k, true);
  const leaves = measuredLeaves.map((leaf, i): PlacedLeaf => ({ ...leaf, kind: word(i, 3), offset: word(i, 4), staged: word(i, 5) }));
  return { leaves, rowBytes: view.getUint32(resultAt + 8, true), stagedBytes: view.getFloat64(resultAt, true), pools };
}
