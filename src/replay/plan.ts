/** The memory that a Replay will need. */

import type { Core } from "../memory/core.ts";
import { journalBytes } from "../memory/journal-bytes.ts";
import { SECTION_MAX } from "../memory/state.ts";
import { tableBytes } from "../memory/table.ts";
import { alignUp, type FramePool, HEAD_BYTES, type Layout, storedFrameBytes, WIDE } from "../schema/layout.ts";
import { SELECTOR_KINDS } from "../schema/selector.ts";
import type { ResolvedTableOptions } from "../tables/table.ts";

export interface Plan {
  /** Bytes per step, including count, link and episode, with one new value per step for shared leaves. */
  readonly bytesPerStep: number;
  /**
   * Bytes of each table, in total and per item, and how many of them are touched once it is full. An episode takes 16 more while items refer to it; items with `columns`, 4
   * for each slot.
   */
  readonly tables: { readonly [name: string]: { readonly bytes: number; readonly bytesPerItem: number; readonly touchedBytes: number } };
  /**
   * The expected number of steps: one per item of the largest table, or its maxSteps if that is lower. A table whose items leave in another order than they came holds
   * steps of its own: all steps of each item, `itemSteps` of them.
   */
  readonly steps: number;
  /** The most steps that an item of such a table is taken to have: what was asked for, or 4, those of rules with `nStep: 3`. Longer items can take more than this plan. */
  readonly itemSteps: number;
  /** The total. Frames that are packed count by their `ratio`. */
  readonly bytes: number;
  /**
   * The part of `bytes` that the system must provide once all tables are full: a `uniform` sampler beside a `fifo` remover takes 8 bytes per item that are touched only
   * after a deletion or a draw without replacement.
   */
  readonly touchedBytes: number;
  /** The total if no frame of them becomes smaller. */
  readonly worstBytes: number;
  /** The total of one that `Replay.open` makes: it notes what changed, for its journal. */
  readonly openedBytes: number;
}

/** Header, static data, scratch of one draw and of a snapshot, unless a record is longer than a section. */
const OVERHEAD = 192 * 1024;
/** The default window of a writer, in steps. */
const WINDOW = 32;
/** What a record has beside the bytes of a row, at most. */
const RECORD = 64;
/** An entry in a table's map of episodes, which is at most half full. */
const EPISODE_BYTES = 8;
/** Memory is taken in such pieces. */
const GRANULE = 4096;

/** A pack of entries, and what it has beside them (assembly/rows/packs.ts). */
const PACK_BYTES = 65_536;
const PACK_HEAD_BYTES = 32;
/** What packing takes for itself: tables, spare packs, a cache of some frames. */
const PACKING_BYTES = 5 * 65_536;
const PACKING_FRAMES = 11;

/** Bytes of one frame with its heads. @param isWorst whether a packed one counts as it is */
function frameBytesOf(pool: FramePool, isWorst: boolean): number {
  return storedFrameBytes(pool, isWorst ? 1 : pool.packed?.ratio);
}

/** Bytes of so many frames. */
function framesRoom(core: Core, pool: FramePool, frames: number, isWorst: boolean): number {
  if (pool.packed === undefined) return core.poolRoom(frameBytesOf(pool, isWorst), frames);
  const each = frameBytesOf(pool, isWorst) - 2 * HEAD_BYTES;
  // Entries as large as these leave a rest of their pack unused.
  const packOf = (entries: number): number => alignUp(PACK_HEAD_BYTES + entries * each, GRANULE);
  const most = Math.max(1, Math.floor((PACK_BYTES - PACK_HEAD_BYTES) / each));
  const perPack = packOf(most - 1) * most < packOf(most) * (most - 1) ? most - 1 : most;
  const bytes = Math.ceil(frames / perPack) * packOf(perPack);
  return 2 * core.poolRoom(HEAD_BYTES, frames) + bytes + PACKING_BYTES + PACKING_FRAMES * alignUp(pool.frameBytes, 16);
}

/** Frames that one step shows of each pool. */
function framesPerStep({ pools, leaves }: Layout): number[] {
  return pools.map(({ name }) => leaves.reduce((sum, { leaf }) => sum + (leaf.shared === name ? (leaf.stack ?? 1) : 0), 0));
}

/** Steps of an item where nobody says how many. */
export const ITEM_STEPS = 4;

/** How steps lie that a table holds: the newest ones, as a fifo does; the oldest ones, as a lifo does; or those of each item somewhere else. */
type Order = "newest" | "oldest" | "scattered";

function orderOf({ sampler, remover, maxTimesSampled }: ResolvedTableOptions): Order {
  const leavesByDraws = maxTimesSampled < Number.MAX_SAFE_INTEGER && sampler.kind !== remover.kind;
  if (leavesByDraws) return "scattered";
  return SELECTOR_KINDS[remover.kind].leaves ?? "scattered";
}

/** What a full table takes and never touches. */
function untouchedBytes(options: ResolvedTableOptions): number {
  return orderOf(options) === "newest" ? (SELECTOR_KINDS[options.sampler.kind].orderBytes ?? 0) * options.maxSize : 0;
}

/** Rows and frames that tables hold at most, beyond the windows of writers. */
interface HeldRows {
  readonly steps: number;
  /** One per pool of frames. */
  readonly frames: readonly number[];
  /** Of the maps of episodes. */
  readonly bytes: number;
}

/** What tables hold if each new step has one new frame per pool, and items that leave in any order have each its own. */
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
    // A new item comes in before another leaves.
    const items = maxItems + 1;
    const rows = Math.min(items * itemSteps, maxSteps + itemSteps);
    otherRows += rows;
    frameCounts.forEach((frames, i) => {
      extra[i] = (extra[i] as number) + Math.min(items * (frames + itemSteps - 1), rows * frames) - rows;
    });
    // Each may be of another episode. As it grows, a map of half the size is beside it.
    bytes += 1.5 * alignUp(EPISODE_BYTES * 2 ** Math.ceil(Math.log2(2 * items)), GRANULE);
  }
  const steps = newest + otherRows;
  return { steps, frames: extra.map((extraFrames) => steps + extraFrames), bytes };
}

/**
 * @param itemSteps of the longest items; undefined for the least that there must be: one new step per item of the largest table
 * @param maxStored the most bytes that steps may take
 * @param core one that tracks changes where there are `places` for them; nothing is taken of it
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
    // The share of an item, without the constant part of a table.
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
  // Steps are evicted before they take more.
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
