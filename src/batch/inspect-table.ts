/**
 * Reads a table for an inspector: its slots and their contents, simulated draws, and the order of age. It changes no counter and no random state. It uses only
 * scratch memory that a snapshot has reserved.
 */

import {
  ABOUT_KEY,
  ABOUT_LENGTH,
  ABOUT_PRIORITY,
  BLOCKED,
  CROSS,
  DISTINCT,
  FROM_START,
  HAVE,
  KEY,
  LONGEST,
  NEED,
  PRIORITY,
  PROBABILITY,
  TIMES_SAMPLED,
} from "../base/abi.ts";
import type { Engine } from "../memory/engine.ts";
import type { Selection } from "../schema/columns.ts";
import type { AnyArray } from "../schema/dtype.ts";
import { isDirect, type PlacedLeaf } from "../schema/layout.ts";
import { Draw } from "./draw.ts";
import { gather } from "./gather.ts";
import { type ItemBuffer, itemBuffer } from "./item-layout.ts";

/** The maximum number of items per call to `see`. Their data still fits into the reserved scratch. */
export const MOST = 256;
/** The maximum numbers of items and rows per call to `rows`. Their data still fits into the reserved scratch. */
const MOST_RUNS = 128;
export const MOST_ROWS = 1024;
/** The maximum number of bytes of values per call. */
const MOST_BYTES = 32768;
const RANDOM_BYTES = 32;

/** Data about several items. Each array has one element per item. */
export interface Seen {
  readonly slots: Uint32Array;
  readonly keys: Float64Array;
  readonly priorities: Float64Array;
  readonly probabilities: Float64Array;
  readonly timesSampled: Uint32Array;
  readonly lengths: Uint32Array;
  /** The number of the episode in which each item begins. */
  readonly episodes: Uint32Array;
}

/** The rows of several items, `width` per item and padded with 0, and one number per step. */
export interface SeenRows {
  readonly width: number;
  readonly rows: Uint32Array;
  readonly values: ArrayLike<number | bigint> | undefined;
}

/** The reason why a draw would be blocked, as in a batch's `blocked`. */
export interface Refused {
  readonly code: number;
  readonly have: number;
  readonly need: number;
}

export class Probe {
  readonly #engine: Engine;
  readonly #table: number;
  readonly #draw: Draw;
  /** The buffers for rows and for one number per step, by the number of items and steps. */
  readonly #buffers = new Map<string, ItemBuffer>();

  /** @param table the handle of the table */
  constructor(engine: Engine, table: number) {
    this.#engine = engine;
    this.#table = table;
    this.#draw = new Draw(engine);
  }

  /** The highest slot ever used; slots begin at 1. */
  get high(): number {
    return this.#engine.core.x.table_high(this.#table);
  }

  /** The slot of the newest item; 0 if that item was removed. */
  get newest(): number {
    const { x } = this.#engine.core;
    return x.table_find(this.#table, x.table_newest(this.#table));
  }

  /** The number of steps of the longest item since the table was last empty. */
  get longest(): number {
    return this.#engine.core.x.table_counter(this.#table, LONGEST);
  }

  /** The sum of all weights; 0 if priorities are not used as weights. */
  get total(): number {
    return this.#engine.core.x.table_total(this.#table);
  }

  /** Returns the slot of an item by its key; 0 if the item was removed. */
  slotOf(key: number): number {
    return this.#engine.core.x.table_find(this.#table, key);
  }

  keyOf(slot: number): number {
    return this.#engine.core.x.table_about(this.#table, slot, ABOUT_KEY);
  }

  /** Returns whether a slot contains an item that can be drawn. */
  isThere(slot: number): boolean {
    const priority = this.#engine.core.x.table_about(this.#table, slot, ABOUT_PRIORITY);
    return priority < Number.POSITIVE_INFINITY && (priority > 0 || Object.is(priority, 0));
  }

  /** Returns data about the live items in the given slots. @param slots at most MOST */
  see(slots: Uint32Array): Seen {
    const draw = this.#draw;
    const n = slots.length;
    draw.prepare(0, n, n);
    draw.nameItems(this.#table, slots, new Uint32Array(n));
    draw.runs(this.#table, n, 1, FROM_START + CROSS);
    const { f64, u32 } = this.#engine.core;
    const numbers = (column: number) => f64.slice(draw.address(column) / 8, draw.address(column) / 8 + n);
    const counts = (column: number) => u32.slice(draw.address(column) / 4, draw.address(column) / 4 + n);
    const view = { keys: numbers(KEY), priorities: numbers(PRIORITY), probabilities: numbers(PROBABILITY), timesSampled: counts(TIMES_SAMPLED) };
    const episodes = draw.rows(n).slice();
    const lengths = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      episodes[i] = this.#engine.episodeOf(episodes[i] as number);
      lengths[i] = this.lengthOf(slots[i] as number);
    }
    return { slots: slots.slice(), ...view, lengths, episodes };
  }

  lengthOf(slot: number): number {
    return this.#engine.core.x.table_about(this.#table, slot, ABOUT_LENGTH);
  }

  /**
   * Returns the slots that n draws would return now, with the given random state. Returns fewer if the draw is blocked, with the reason in
   * `refused`.
   * @param isOrdered whether the sampler has an order; if so, the result is the first n slots in that order
   */
  wouldDraw(n: number, random: (state: Uint8Array) => void, isOrdered: boolean): { readonly slots: Uint32Array; readonly refused?: Refused } {
    const { core } = this.#engine;
    const draw = this.#draw;
    const slots: number[] = [];
    const at = core.x.table_random(this.#table) >>> 0;
    while (slots.length < n) {
      const most = Math.min(MOST, n - slots.length);
      draw.prepare(0, most, most);
      const own = core.u8.slice(at, at + RANDOM_BYTES);
      let count: number;
      try {
        random(core.u8.subarray(at, at + RANDOM_BYTES));
        count = draw.peek(this.#table, most, isOrdered ? DISTINCT : 0, 0);
      } finally {
        core.u8.set(own, at);
      }
      if (count > 0) slots.push(...draw.slots(count));
      if (count <= 0) return { slots: Uint32Array.from(slots), refused: { code: draw.result(BLOCKED), have: draw.result(HAVE), need: draw.result(NEED) } };
      if (isOrdered) break;
    }
    return { slots: Uint32Array.from(slots) };
  }

  /** Returns at most MOST slots in order of age after a slot (0: from the oldest item on). Requires a remover that uses this order: fifo or lifo. */
  after(slot: number, most: number = MOST): Uint32Array {
    const { core } = this.#engine;
    const at = core.scratch(4 * MOST);
    const count = core.x.table_slots(this.#table, slot, most, at);
    return core.u32.slice(at / 4, at / 4 + count);
  }

  /** Returns how many items `rows` accepts if the longest item has `width` steps. */
  static together(width: number): number {
    return Math.max(1, Math.min(MOST_RUNS, Math.floor(MOST_ROWS / width)));
  }

  /** Returns how many steps of a leaf `steps` accepts per call; 0 if not even one step fits into the reserved scratch. */
  static stepsTogether(leaf: PlacedLeaf): number {
    if (isDirect(leaf, [0])) return MOST_ROWS;
    return Math.min(MOST_ROWS, Math.floor(MOST_BYTES / leaf.bytes));
  }

  /**
   * Returns `width` rows of each item in at most `together` slots, from step `from` on, and the values of a leaf with one number per step. The leaf is always
   * the same.
   */
  rows(slots: Uint32Array, from: number, width: number, number: PlacedLeaf | undefined): SeenRows {
    const n = slots.length;
    const buffer = number === undefined ? undefined : this.#buffer(n, width, number);
    const draw = buffer === undefined ? this.#draw : buffer.prepare();
    if (buffer === undefined) draw.prepare(0, n, n * width);
    draw.nameItems(this.#table, slots, new Uint32Array(n).fill(from));
    draw.runs(this.#table, n, width, FROM_START + CROSS);
    const rows = draw.rows(n * width).slice();
    if (buffer !== undefined) gather(buffer, n);
    return { width, rows, values: buffer && (valuesIn(buffer) as ArrayLike<number | bigint>) };
  }

  /** Returns a leaf's values in at most `stepsTogether` steps of one item, as a new array or a list of strings. */
  steps(slot: number, from: number, width: number, leaf: PlacedLeaf): AnyArray | string[] {
    const buffer = this.#made(1, width, leaf);
    const draw = buffer.prepare();
    draw.nameItems(this.#table, [slot], [from]);
    draw.runs(this.#table, 1, width, FROM_START + CROSS);
    gather(buffer, 1);
    return valuesIn(buffer) as AnyArray | string[];
  }

  /** Returns the number of a row's episode, and how the episode ends at that row (`Engine.endOf`). */
  episodeOf(row: number): number {
    return this.#engine.episodeOf(row);
  }

  endOf(row: number): number {
    return this.#engine.endOf(row);
  }

  isLive(row: number): boolean {
    return this.#engine.isLive(row);
  }

  #buffer(n: number, width: number, leaf: PlacedLeaf): ItemBuffer {
    const key = `${n} ${width}`;
    let buffer = this.#buffers.get(key);
    if (buffer === undefined) {
      // A few buffers suffice, since most requests have the same size.
      if (this.#buffers.size > 8) this.#buffers.clear();
      buffer = this.#made(n, width, leaf);
      this.#buffers.set(key, buffer);
    }
    return buffer;
  }

  #made(n: number, width: number, leaf: PlacedLeaf): ItemBuffer {
    return itemBuffer(this.#engine, { n, width, selections: [everyStep(leaf)], isWhole: false, holds: 0 });
  }
}

const everyStep = (leaf: PlacedLeaf): Selection => ({ keys: ["one"], leaf, start: 0, step: 1, squeezed: false });

const valuesIn = ({ batch }: ItemBuffer): unknown => (batch.steps as { readonly one: { readonly data: unknown } }).one.data;
