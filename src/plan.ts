/** What a Replay will need, before anything is taken. */
import { Core } from "./core/core.ts";
import { tableBytes } from "./core/table.ts";
import { HEAD_BYTES, type Layout, up, WIDE } from "./spec/layout.ts";
import type { ResolvedTableOptions } from "./table.ts";

export interface Plan {
  /** Bytes of a step, its count, link and episode included; of shared leaves one new value a step. */
  readonly bytesPerStep: number;
  /** Bytes of a table's arrays, in all and an item. An episode costs 16 more while items refer to it. */
  readonly tables: { readonly [name: string]: { readonly bytes: number; readonly bytesPerItem: number } };
  /** Steps that the limits make one expect: as many as the largest table has items, one new step an item, or its maxSteps if that is less. */
  readonly steps: number;
  /** Everything together. */
  readonly bytes: number;
}

/** Header, static data, one draw and its scratch, a snapshot's. */
const OVERHEAD = 192 * 1024;
/** Steps that a writer keeps at hand, where it is not told. */
const WINDOW = 32;

export function planOf(layout: Layout, tables: { readonly [name: string]: ResolvedTableOptions }, module?: WebAssembly.Module, tracking = false): Plan {
  const core = new Core(1 << 20, module, tracking);
  const wide = layout.leaves.filter((leaf) => leaf.kind === WIDE).reduce((sum, leaf) => sum + leaf.bytes, 0);
  const frames = layout.pools.map(({ frameBytes }) => HEAD_BYTES + up(frameBytes, 8));
  const rowBytes = HEAD_BYTES + layout.rowBytes + wide;
  const planned: { [name: string]: { bytes: number; bytesPerItem: number } } = {};
  let steps = 0;
  let bytes = OVERHEAD;
  for (const [name, options] of Object.entries(tables)) {
    const { maxSize, maxSteps } = options;
    const own = tableBytes(core, options);
    // An item's share, without what a table of any size has.
    const twice = tableBytes(core, { ...options, maxSize: 2 * maxSize });
    planned[name] = { bytes: own, bytesPerItem: (twice - own) / maxSize };
    bytes += own;
    steps = Math.max(steps, Math.min(maxSize, maxSteps));
  }
  let bytesPerStep = 0;
  for (const each of [rowBytes, ...frames]) {
    bytes += blocksOf(steps + WINDOW, each);
    bytesPerStep += each;
  }
  return { bytesPerStep, tables: planned, steps, bytes };
}

/** Bytes of a pool with so many rows: it takes whole blocks (assembly/rows/pool.ts). */
function blocksOf(rows: number, each: number): number {
  const block = Math.min(Math.max(Math.floor(65516 / each), 1), 1024);
  return Math.ceil(rows / block) * up(block * each + 20, 4096);
}
