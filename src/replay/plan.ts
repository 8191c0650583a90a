/** Estimates the memory that a Replay will need. */

import type { Core } from "../memory/core.ts";
import { journalBytes } from "../memory/journal-bytes.ts";
import { SECTION_MAX } from "../memory/state.ts";
import { tableBytes } from "../memory/table.ts";
import { alignUp, type FramePool, HEAD_BYTES, type Layout, storedFrameBytes, WIDE } from "../schema/layout.ts";
import { SELECTOR_KINDS } from "../schema/selector.ts";
import type { ResolvedTableOptions } from "../tables/table.ts";

export interface Plan {
  /** The number of bytes per step, including its head (reference count, link and episode) and one new frame in each pool of shared leaves. */
  readonly bytesPerStep: number;
  /**
   * The number of bytes of each table, in total and per item, and the number of bytes touched when the table is full. An episode takes 16 more bytes while
   * items refer to it. If items have `columns`, each slot takes 4 more bytes.
   */
  readonly tables: { readonly [name: string]: { readonly bytes: number; readonly bytesPerItem: number; readonly touchedBytes: number } };
  /**
   * The expected number of steps: one per item of the largest table, or `maxSteps` of that table if `maxSteps` is lower. If the items of a table are not
   * evicted in insertion order or its reverse, the table has separate steps, `itemSteps` per item.
   */
  readonly steps: number;
  /**
   * The assumed maximum number of steps of an item in such a table: the option `itemSteps`, or 4, which fits rules with `nStep: 3`. Longer items may exceed
   * this plan.
   */
  readonly itemSteps: number;
  /** The total number of bytes. Packed frames count with their `ratio`. */
  readonly bytes: number;
  /**
   * The part of `bytes` that the operating system must provide when all tables are full. For example, a `uniform` sampler with a `fifo` remover has 8 bytes per
   * item that are touched only after a deletion or a draw without replacement.
   */
  readonly touchedBytes: number;
  /** The total number of bytes if no packed frame becomes smaller. */
  readonly worstBytes: number;
  /** The total number of bytes of a Replay from `Replay.open`, which also tracks changes for its journal. */
  readonly openedBytes: number;
}

/** The bytes of the header, static data, and scratch of one draw and one snapshot, unless a record is longer than a section. */
const OVERHEAD = 192 * 1024;
/** The default window of a writer, in steps. */
const WINDOW = 32;
/** The maximum number of bytes of a record in addition to the bytes of the row. */
const RECORD = 64;
/** The number of bytes of an entry in a table's map of episodes, which is at most half full. */
const EPISODE_BYTES = 8;
/** The granularity of allocations: memory is allocated in multiples of this number. */
const GRANULE = 4096;

/** The number of bytes of a pack of entries, and of its head (assembly/rows/packs.ts). */
const PACK_BYTES = 65_536;
const PACK_HEAD_BYTES = 32;
/** The memory that packing itself needs: the bytes of tables and spare packs, and the number of cached frames. */
const PACKING_BYTES = 5 * 65_536;
const PACKING_FRAMES = 11;

/** Returns the number of bytes of one frame including its heads. @param isWorst whether to count packed frames at full size */
function frameBytesOf(pool: FramePool, isWorst: boolean): number {
  return storedFrameBytes(pool, isWorst ? 1 : pool.packed?.ratio);
}

/** Returns the number of bytes of `frames` frames. */
function framesRoom(core: Core, pool: FramePool, frames: number, isWorst: boolean): number {
  if (pool.packed === undefined) return core.poolRoom(frameBytesOf(pool, isWorst), frames);
  const each = frameBytesOf(pool, isWorst) - 2 * HEAD_BYTES;
  // Large entries leave the rest of their pack unused.
  const packOf = (entries: number): number => alignUp(PACK_HEAD_BYTES + entries * each, GRANULE);
  const most = Math.max(1, Math.floor((PACK_BYTES - PACK_HEAD_BYTES) / each));
  const perPack = packOf(most - 1) * most < packOf(most) * (most - 1) ? most - 1 : most;
  const bytes = Math.ceil(frames / perPack) * packOf(perPack);
  return 2 * core.poolRoom(HEAD_BYTES, frames) + bytes + PACKING_BYTES + PACKING_FRAMES * alignUp(pool.frameBytes, 16);
}

/** Returns the number of frames that one step shows, per pool. */
function framesPerStep({ pools, leaves }: Layout): number[] {
  return pools.map(({ name }) => leaves.reduce((sum, { leaf }) => sum + (leaf.shared === name ? (leaf.stack ?? 1) : 0), 0));
}

/** The default of the option `itemSteps`: the assumed number of steps of the longest items. */
export const ITEM_STEPS = 4;

/** The steps that a full table contains: the newest steps (fifo), the oldest steps (lifo), or the steps of scattered items. */
type Order = "newest" | "oldest" | "scattered";

function orderOf({ sampler, remover, maxTimesSampled }: ResolvedTableOptions): Order {
  const leavesByDraws = maxTimesSampled < Number.MAX_SAFE_INTEGER && sampler.kind !== remover.kind;
  if (leavesByDraws) return "scattered";
  return SELECTOR_KINDS[remover.kind].leaves ?? "scattered";
}

/** Returns the number of bytes of a full table that are never touched. */
function untouchedBytes(options: ResolvedTableOptions): number {
  return orderOf(options) === "newest" ? (SELECTOR_KINDS[options.sampler.kind].orderBytes ?? 0) * options.maxSize : 0;
}

/** The maximum numbers of rows and frames that tables keep, excluding the windows of writers. */
interface HeldRows {
  readonly steps: number;
  /** The frames, with one number per pool. */
  readonly frames: readonly number[];
  /** The number of bytes of the maps of episodes. */
  readonly bytes: number;
}

/**
 * Returns the rows that tables keep if each new step has one new frame per pool. Items that are removed in any other order than fifo or lifo have separate
 * steps.
 */
function heldRows(tables: readonly ResolvedTableOptions[], frameCounts: readonly number[], itemSteps: number): HeldRows {
  let newest = 0;
  let otherRows = 0;
  let bytes = 0;
  const extra = frameCounts.map(() => 0);
  for (const options of tables) {
    const { maxSize, maxSteps } = options;
    const maxItems = Math.min(maxSize, maxSteps);
    const order = orderOf(options);
    if (order === "newest") newest = Math.max(newest, maxItems);
    if (order === "oldest") otherRows += maxItems + itemSteps;
    if (order !== "scattered") continue;
    // A new item is inserted before an item is evicted.
    const items = maxItems + 1;
    const rows = Math.min(items * itemSteps, maxSteps + itemSteps);
    otherRows += rows;
    frameCounts.forEach((frames, i) => {
      extra[i] = (extra[i] as number) + Math.min(items * (frames + itemSteps - 1), rows * frames) - rows;
    });
    // Each item may belong to a different episode. While a map grows, the old map of half the size still exists.
    bytes += 1.5 * alignUp(EPISODE_BYTES * 2 ** Math.ceil(Math.log2(2 * items)), GRANULE);
  }
  const steps = newest + otherRows;
  return { steps, frames: extra.map((extraFrames) => steps + extraFrames), bytes };
}

/**
 * Returns the plan of a Replay with this layout and these tables.
 * @param itemSteps the number of steps of the longest items; undefined for the minimum, which is one new step per item of the largest table
 * @param maxStored the maximum number of bytes of steps
 * @param core a core for the computation, with change tracking if there are `places`. The computation allocates nothing in the core
 */
export function planOf(
  layout: Layout,
  tables: { readonly [name: string]: ResolvedTableOptions },
  core: Core,
  places: number,
  itemSteps?: number,
  maxStored = Number.POSITIVE_INFINITY,
): Omit<Plan, "openedBytes"> {
  const wide = layout.leaves.filter((leaf) => leaf.kind === WIDE).reduce((sum, leaf) => sum + leaf.bytes, 0);
  const frames = layout.pools.map((pool) => frameBytesOf(pool, false));
  const rowBytes = HEAD_BYTES + layout.rowBytes + wide;
  const tablePlans: { [name: string]: Plan["tables"][string] } = {};
  const record = Math.max(rowBytes, ...layout.pools.map((pool) => frameBytesOf(pool, true))) + RECORD;
  let bytes = OVERHEAD + Math.max(0, alignUp(record - SECTION_MAX, GRANULE)) + (places > 0 ? alignUp(journalBytes(record, places), GRANULE) + GRANULE : 0);
  let untouched = 0;
  for (const [name, options] of Object.entries(tables)) {
    const { maxSize } = options;
    const size = tableBytes(core, options);
    // The bytes per item, without the constant part of a table.
    const doubleSize = tableBytes(core, { ...options, maxSize: 2 * maxSize });
    const touchedBytes = size - untouchedBytes(options);
    tablePlans[name] = { bytes: size, bytesPerItem: (doubleSize - size) / maxSize, touchedBytes };
    bytes += size;
    untouched += size - touchedBytes;
  }
  const minSteps = Object.values(tables).reduce((max, { maxSize, maxSteps }) => Math.max(max, Math.min(maxSize, maxSteps)), 0);
  const rows = itemSteps === undefined ? undefined : heldRows(Object.values(tables), framesPerStep(layout), itemSteps);
  const steps = rows?.steps ?? minSteps;
  bytes += rows?.bytes ?? 0;
  const stepsRoom = core.poolRoom(rowBytes, steps + WINDOW);
  const framesBytes = (isWorst: boolean): number =>
    layout.pools.reduce((sum, pool, i) => sum + framesRoom(core, pool, (rows?.frames[i] ?? steps) + WINDOW, isWorst), 0);
  const bytesPerStep = frames.reduce((sum, frameBytes) => sum + frameBytes, rowBytes);
  // Tables evict items before their steps exceed `maxStored`.
  const total = (isWorst: boolean): number => bytes + Math.min(stepsRoom + framesBytes(isWorst), maxStored);
  return {
    bytesPerStep,
    tables: tablePlans,
    steps,
    itemSteps: itemSteps ?? 1,
    bytes: total(false),
    touchedBytes: total(false) - untouched,
    worstBytes: total(true),
  };
}
