/**
 * How the columns of a batch are filled: worked out once, so that the next draw into the same arrays allocates nothing. New arrays are copied from scratch in one go.
 *
 * scratch │ OUTPUT … │ lists of steps │ runs │ temporary │ stops │ values of the leaves │ DRAW │ the draw's columns …
 */

import { OUTPUT_BYTES, OUTPUT_EACH, OUTPUT_STEPS, RUN_BYTES } from "../base/abi.ts";
import type { Engine } from "../memory/engine.ts";
import type { Place } from "../schema/arrays.ts";
import { type ArrayClass, DTYPES } from "../schema/dtype.ts";
import { goesStraight, mayGoStraight, type PlacedLeaf, STRAIGHT_BYTES, up } from "../schema/layout.ts";
import type { BoundedText } from "../schema/leaf.ts";
import { readTexts } from "../schema/text.ts";
import { Draw } from "./draw.ts";
import { Places } from "./places.ts";

interface Output {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** Where its list of steps is, in numbers from the first list on. */
  readonly list: number;
  /** The number of its lists, where items differ. */
  readonly index: number;
  /** The number of its array. */
  readonly array: number;
  /** Of one that is copied from where it is: where it stops, among the stops, if few values are neighbours. */
  readonly stop: number;
}

export abstract class Gatherer extends Places {
  /** What it is filled from, since the last `prepare`. */
  readonly draw: Draw;
  readonly #engine: Engine;
  /** Of those among the values, which the core gathers; of those that are copied from where they are; of text. Their OUTPUTs stand in this order. */
  readonly #outputs: Output[] = [];
  readonly #straight: Output[] = [];
  readonly #written: Output[] = [];
  /** Rows that the longest column may have. */
  #rows: number;
  /** Numbers of all lists of steps. */
  #steps = 0;
  /** Bytes of the runs of what may be copied from where it is. */
  #runs = 0;
  /** Bytes of what is in scratch for the moment: the lists of items that differ, and text. */
  #temporary = 0;
  /** Bytes of what may have to stop in scratch. */
  #stops = 0;
  #base = 0;
  #generation = -1;
  /** What the core reads: the outputs, and the lists of steps. Whether it stands in scratch already, as long as no other draw does. */
  #plan = new Uint32Array(0);
  #isPlanned = false;
  /** Bytes of the plan in scratch, and of the runs. */
  #head = 0;
  /** Where items have columns of their own steps: the lists of each output, item by item. */
  protected lists: readonly Int32Array[] | undefined;

  /** @param rows so many an item at least */
  constructor(engine: Engine, n: number, rows: number) {
    super(n);
    this.#engine = engine;
    this.draw = new Draw(engine);
    this.#rows = n * rows;
  }

  /**
   * One more array: a leaf's values at some steps of each item; its number. A filler for fewer items or shorter windows takes over a draw in this one's scratch: none of the
   * sizes may then be larger, whichever way its values go.
   * @param path of it @param longest as many steps as there may ever be of them
   */
  protected gather(path: string, leaf: PlacedLeaf, steps: readonly number[], longest = steps.length): number {
    const { n } = this;
    const { dtype } = leaf.leaf;
    const isText = dtype === "string";
    const isStraight = goesStraight(leaf, steps);
    const outputs = isStraight ? this.#straight : isText ? this.#written : this.#outputs;
    const before = outputs.at(-1);
    // Columns of the same steps are selected once.
    const again = before !== undefined && steps.length === before.steps.length && steps.every((step, k) => step === before.steps[k]);
    const list = again ? before.list : this.#steps;
    const index = this.#outputs.length + this.#straight.length + this.#written.length;
    const bytes = up(longest * n * leaf.bytes, 16);
    const each = steps.length * leaf.size;
    const kind = isText ? undefined : (DTYPES[dtype].array as ArrayClass);
    let array: number;
    if (kind === undefined) array = this.arrays.text(path, each);
    else array = isStraight ? this.arrays.beside(path, kind, each, bytes) : this.arrays.value(path, kind, each, bytes);
    outputs.push({ leaf, steps, list, index, array, stop: this.#stops });
    this.#steps += longest;
    this.#rows = Math.max(this.#rows, n * longest);
    // Text comes behind its lists.
    this.#temporary = Math.max(this.#temporary, up(4 * longest * n, 16) + (isText ? bytes : 0));
    if (mayGoStraight(leaf)) this.#runs += RUN_BYTES * n * longest * (leaf.bytes / leaf.frameBytes);
    if (isStraight && mayStop(leaf)) this.#stops += bytes;
    this.#head = up(OUTPUT_BYTES * (index + 1) + 4 * this.#steps, 16) + this.#runs;
    return array;
  }

  /** Makes a draw in scratch memory. What could find no room does so here, before the table changes. @throws ReplayError OUT_OF_MEMORY, SPEC_MISMATCH */
  prepare(): Draw {
    const { core } = this.#engine;
    this.check();
    if (core.owner !== this.draw) this.#isPlanned = false;
    this.#base = this.draw.prepare(this.#head + this.#temporary + this.#stops + this.arrays.values, this.n, this.#rows);
    if (this.#generation !== core.generation) this.#see(true);
    this.#generation = core.generation;
    return this.draw;
  }

  /** Takes over the draw of a filler for more items, or longer windows. */
  after(other: Gatherer): this {
    this.#base = other.#base;
    this.draw.handle = other.draw.handle;
    this.#see(false);
    other.#isPlanned = false;
    // The next draw is its own again.
    this.#generation = -1;
    return this;
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  fill(count: number): void {
    const { core, pool } = this.#engine;
    const { x } = core;
    const draw = this.draw.handle;
    const outputs = this.#outputs;
    const straight = this.#straight;
    const written = this.#written;
    const { lists } = this;
    if (!this.#isPlanned || core.owner !== this.draw) core.u32.set(this.#plan, this.#base >>> 2);
    this.#isPlanned = lists === undefined && core.owner === this.draw;
    // By index: before V8 has optimized it, `of` leaves an object a turn.
    if (lists === undefined) x.gather(draw, pool, this.#base, outputs.length);
    else for (let i = 0; i < outputs.length; i++) x.gather(draw, pool, this.#listed(i, outputs[i] as Output), 1);
    const together = lists === undefined && this.#stops === 0 ? straight.length : 1;
    for (let i = 0; i < straight.length; i += together) {
      this.#listed(outputs.length + i, straight[i] as Output);
      this.#copyStraight(i, together, count);
    }
    for (let i = 0; i < written.length; i++) {
      const output = written[i] as Output;
      const { leaf, steps, array } = output;
      x.gather(draw, pool, this.#listed(outputs.length + straight.length + i, output), 1);
      readTexts(core.u8, this.#textAt(output), (leaf.leaf as BoundedText).maxBytes, this.textOf(array), count * steps.length * leaf.size);
    }
    this.copyOut(core.u8, count);
  }

  /** Where in scratch the lists of items that differ come. */
  get #lists(): number {
    return this.#base + this.#head;
  }

  /** Where the text of an output comes: behind its lists. */
  #textAt({ steps }: Output): number {
    return this.#lists + up(4 * steps.length * this.n, 16);
  }

  #stopOf({ stop }: Output): number {
    return this.#lists + this.#temporary + stop;
  }

  /** Where the values begin. */
  get #from(): number {
    return this.#lists + this.#temporary + this.#stops;
  }

  protected override sourceOf({ where, at }: Place): number {
    return where === "draw" ? this.draw.address(at) : this.#from + at;
  }

  /** The address of an OUTPUT by its place in the plan; where items differ, with its own lists. */
  #listed(place: number, { index, steps }: Output): number {
    const address = this.#base + OUTPUT_BYTES * place;
    if (this.lists !== undefined) {
      const { i32 } = this.#engine.core;
      i32.set(this.lists[index] as Int32Array, this.#lists >>> 2);
      i32[(address >>> 2) + OUTPUT_STEPS] = this.#lists;
      i32[(address >>> 2) + OUTPUT_EACH] = steps.length;
    }
    return address;
  }

  /** Looks at the places in scratch anew. */
  #see(isOwn: boolean): void {
    this.look(this.#engine.core.u8, this.#from, isOwn);
    this.#plan = this.#planned();
    this.#isPlanned = false;
  }

  /** OUTPUT for each, and the lists of steps. */
  #planned(): Uint32Array<ArrayBuffer> {
    const all = [...this.#outputs, ...this.#straight, ...this.#written];
    const plan = new Uint32Array((this.#head - this.#runs) / 4);
    const lists = (OUTPUT_BYTES / 4) * all.length;
    for (const [i, output] of all.entries()) {
      const { leaf, steps, list, array } = output;
      const { kind, where, at } = this.arrays.place(array);
      const to = kind === undefined ? this.#textAt(output) : where === "behind" ? this.#stopOf(output) : this.#from + at;
      plan.set([leaf.index, this.#base + 4 * (lists + list), steps.length, 0, to], (OUTPUT_BYTES / 4) * i);
      plan.set(steps, lists + list);
    }
    return plan;
  }

  /** Copies so many outputs, from the `first` on, from where they are, run by run. */
  #copyStraight(first: number, many: number, count: number): void {
    const { core, pool } = this.#engine;
    const runsAt = this.#lists - this.#runs;
    const address = this.#base + OUTPUT_BYTES * (this.#outputs.length + first);
    const runs = core.x.gather_runs(this.draw.handle, pool, address, many, runsAt);
    const one = this.#straight[first] as Output;
    // Where few are neighbours, a copy of each by the host would cost more than the stop.
    if (mayStop(one.leaf) && runs * STRAIGHT_BYTES > count * one.steps.length * one.leaf.bytes) {
      this.#copyStopping(address, one, count);
      return;
    }
    const { u8, u32 } = core;
    const end = (runsAt + RUN_BYTES * runs) / 4;
    for (let i = runsAt / 4; i < end; i += RUN_BYTES / 4) {
      const from = u32[i] as number;
      const length = u32[i + 1] as number;
      const { array } = this.#straight[first + (u32[i + 2] as number)] as Output;
      const to = this.startOf(array) + (u32[i + 3] as number);
      if (from === 0) this.bytesOf(array).fill(0, to, to + length);
      else this.bytesOf(array).set(u8.subarray(from, from + length), to);
    }
  }

  #copyStopping(address: number, output: Output, count: number): void {
    const { core, pool } = this.#engine;
    core.x.gather(this.draw.handle, pool, address, 1);
    const from = this.#stopOf(output);
    this.bytesOf(output.array).set(core.u8.subarray(from, from + count * output.steps.length * output.leaf.bytes), this.startOf(output.array));
  }
}

/** Whether a leaf that goes straight may be too short for that, where few values are neighbours. */
function mayStop({ frameBytes }: PlacedLeaf): boolean {
  return frameBytes < STRAIGHT_BYTES;
}
