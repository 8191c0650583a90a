/**
 * What an inspector may look at: slots of a table and what stands in them, draws that are not made, the order of age. Changes nothing: no counter, no random state, and
 * of memory only scratch, of which it takes what a snapshot has reserved.
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

/** Items that are looked at together: what is told of them has room in scratch. */
export const MOST = 256;
/** Items and rows of them that are read together, likewise. */
const MOST_RUNS = 128;
export const MOST_ROWS = 1024;
/** Bytes of values that are read together. */
const MOST_BYTES = 32768;
const RANDOM_BYTES = 32;

/** What there is to tell of some items, one number each. */
export interface Seen {
  readonly slots: Uint32Array;
  readonly keys: Float64Array;
  readonly priorities: Float64Array;
  readonly probabilities: Float64Array;
  readonly timesSampled: Uint32Array;
  readonly lengths: Uint32Array;
  /** The number of the episode in which it begins. */
  readonly episodes: Uint32Array;
}

/** Rows of some items, `width` each, 0 where an item has fewer; and a number of each step. */
export interface SeenRows {
  readonly width: number;
  readonly rows: Uint32Array;
  readonly values: ArrayLike<number | bigint> | undefined;
}

/** Why a draw would not pass, as a batch's `blocked` has it. */
export interface Refused {
  readonly code: number;
  readonly have: number;
  readonly need: number;
}

export class Probe {
  readonly #engine: Engine;
  readonly #table: number;
  readonly #draw: Draw;
  /** Of rows and a number of each, by how many items and steps. */
  readonly #buffers = new Map<string, ItemBuffer>();

  /** @param table its handle */
  constructor(engine: Engine, table: number) {
    this.#engine = engine;
    this.#table = table;
    this.#draw = new Draw(engine);
  }

  /** Slots that were ever used: 1 … high. */
  get high(): number {
    return this.#engine.core.x.table_high(this.#table);
  }

  /** The slot of the item that came last; 0 where it has left. */
  get newest(): number {
    const { x } = this.#engine.core;
    return x.table_find(this.#table, x.table_newest(this.#table));
  }

  /** Steps of the longest item since the table was empty. */
  get longest(): number {
    return this.#engine.core.x.table_counter(this.#table, LONGEST);
  }

  /** The sum of all weights; 0 where priorities are no weights. */
  get total(): number {
    return this.#engine.core.x.table_total(this.#table);
  }

  /** The slot of an item by its key; 0 where it has left. */
  slotOf(key: number): number {
    return this.#engine.core.x.table_find(this.#table, key);
  }

  keyOf(slot: number): number {
    return this.#engine.core.x.table_about(this.#table, slot, ABOUT_KEY);
  }

  /** Whether an item is in a slot that can be drawn. */
  isThere(slot: number): boolean {
    const priority = this.#engine.core.x.table_about(this.#table, slot, ABOUT_PRIORITY);
    return priority < Number.POSITIVE_INFINITY && (priority > 0 || Object.is(priority, 0));
  }

  /** What stands in slots of live items, MOST at most. */
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
   * The slots of n draws, as the table would give them now: by a random state that is given, not by its own. Fewer where they do not pass: then `refused` says why.
   * @param isOrdered whether the sampler has an order: then the first n in it
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

  /** Slots in order of age behind one (0: from the oldest on), MOST at most. Only where the remover has that order: fifo, lifo. */
  after(slot: number, most: number = MOST): Uint32Array {
    const { core } = this.#engine;
    const at = core.scratch(4 * MOST);
    const count = core.x.table_slots(this.#table, slot, most, at);
    return core.u32.slice(at / 4, at / 4 + count);
  }

  /** Items that `rows` takes, whose longest has so many steps. */
  static together(width: number): number {
    return Math.max(1, Math.min(MOST_RUNS, Math.floor(MOST_ROWS / width)));
  }

  /** Steps of a leaf that `steps` takes of an item; 0 where not even one goes into what is reserved. */
  static stepsTogether(leaf: PlacedLeaf): number {
    if (isDirect(leaf, [0])) return MOST_ROWS;
    return Math.min(MOST_ROWS, Math.floor(MOST_BYTES / leaf.bytes));
  }

  /** The rows of items in slots, `together` at most: `width` steps each from `from` on; and the values of a leaf that is one number, always the same leaf. */
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

  /** A leaf's values in steps of one item, `stepsTogether` at most: a new array, or a list of text. */
  steps(slot: number, from: number, width: number, leaf: PlacedLeaf): AnyArray | string[] {
    const buffer = this.#made(1, width, leaf);
    const draw = buffer.prepare();
    draw.nameItems(this.#table, [slot], [from]);
    draw.runs(this.#table, 1, width, FROM_START + CROSS);
    gather(buffer, 1);
    return valuesIn(buffer) as AnyArray | string[];
  }

  /** The number of a row's episode, and how that ends with it (`Engine.endOf`). */
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
      // Chunks are mostly of one size.
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
