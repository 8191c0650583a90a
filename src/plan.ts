/** The memory that a Replay will need. */

import type { Core } from "./core/core.ts";
import { journalBytes } from "./core/journal-bytes.ts";
import { SECTION_MAX } from "./core/state.ts";
import { tableBytes } from "./core/table.ts";
import { HEAD_BYTES, type Layout, up, WIDE } from "./spec/layout.ts";
import type { ResolvedTableOptions } from "./table.ts";

export interface Plan {
  /** Bytes per step, including count, link and episode, with one new value per step for shared leaves. */
  readonly bytesPerStep: number;
  /** Bytes of each table, in total and per item. An episode takes 16 more while items refer to it; items with `columns`, 4 for each slot. */
  readonly tables: { readonly [name: string]: { readonly bytes: number; readonly bytesPerItem: number } };
  /** The expected number of steps: one per item of the largest table, or its maxSteps if that is lower. */
  readonly steps: number;
  /** The total. */
  readonly bytes: number;
  /** The total of one that `Replay.open` makes: it notes what changed, for its journal. */
  readonly openedBytes: number;
}

/** Header, static data, scratch of one draw and of a snapshot, unless a record is longer than a section. */
const OVERHEAD = 192 * 1024;
/** The default window of a writer, in steps. */
const WINDOW = 32;
/** What a record has beside the bytes of a row, at most. */
const RECORD = 64;
/** Memory is taken in such pieces. */
const GRANULE = 4096;

/** @param core one that tracks changes where there are `places` for them; nothing is taken of it */
export function planOf(layout: Layout, tables: { readonly [name: string]: ResolvedTableOptions }, core: Core, places: number): Omit<Plan, "openedBytes"> {
  const wide = layout.leaves.filter((leaf) => leaf.kind === WIDE).reduce((sum, leaf) => sum + leaf.bytes, 0);
  const frames = layout.pools.map(({ frameBytes }) => HEAD_BYTES + up(frameBytes, 8));
  const rowBytes = HEAD_BYTES + layout.rowBytes + wide;
  const planned: { [name: string]: { bytes: number; bytesPerItem: number } } = {};
  let steps = 0;
  const record = Math.max(rowBytes, ...frames) + RECORD;
  let bytes = OVERHEAD + Math.max(0, up(record - SECTION_MAX, GRANULE)) + (places > 0 ? up(journalBytes(record, places), GRANULE) + GRANULE : 0);
  for (const [name, options] of Object.entries(tables)) {
    const { maxSize, maxSteps } = options;
    const own = tableBytes(core, options);
    // The share of an item, without the constant part of a table.
    const twice = tableBytes(core, { ...options, maxSize: 2 * maxSize });
    planned[name] = { bytes: own, bytesPerItem: (twice - own) / maxSize };
    bytes += own;
    steps = Math.max(steps, Math.min(maxSize, maxSteps));
  }
  let bytesPerStep = 0;
  for (const each of [rowBytes, ...frames]) {
    bytes += core.poolRoom(each, steps + WINDOW);
    bytesPerStep += each;
  }
  return { bytesPerStep, tables: planned, steps, bytes };
}
