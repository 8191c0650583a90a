/** How one batch object of `sample` is filled, or one after the other that are alike. */

import { LENGTH, WEIGHT } from "../base/abi.ts";
import { mustBe } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { Column } from "../schema/column.ts";
import { type ColumnLayout, type Selection, type Shown, stepIndices, stepLists, stepsOf } from "../schema/columns.ts";
import type { AnyArray } from "../schema/dtype.ts";
import { packer, valueAt } from "../schema/nest.ts";
import { arrayOf, type Batch, DrawnBatch, INFO, type Into, isReleased, layOut, layoutsOf, lendOut, N_STEP, Slab, slabOf } from "./batch.ts";
import { BatchForm, type Numbers } from "./form.ts";
import { Gatherer } from "./gatherer.ts";
import type { Rows } from "./joined.ts";
import type { Home } from "./returned.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a batch may hold beside steps, lengths and info; as bits. */
export const WEIGHTS = 1;
export const RETURNS = 2;
export const MASK = 4;

export class Filler extends Gatherer {
  readonly width: number;
  readonly selections: readonly Selection[];
  /** Steps that the longest item must have for these. */
  readonly least: number;
  /** WEIGHTS, RETURNS, MASK where the batch has them. */
  readonly holds: number;
  readonly #engine: Engine;
  /** Whether runs go on to the end of the window, wherever they should stop: how wide the whole batch will be is not known yet. */
  readonly #open: boolean;
  readonly #form: BatchForm;
  /** Where it goes when its batch comes back. */
  #home: Home<Filler> | undefined;
  #batch: Writable<Batch<unknown>> | undefined;

  /**
   * @param whole whether the batch is nested as the spec
   * @param asked what it must hold, as bits
   * @param into the batch; without it a new one is made
   * @param open of a part of a batch: runs go on to the end of the window
   * @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one
   */
  constructor(engine: Engine, n: number, width: number, selections: readonly Selection[], whole: boolean, asked: number, into?: Into, open = false) {
    super(engine, n, width);
    if (into !== undefined) mustBeWritable(into, "count", "blocked");
    if (isReleased(into)) throw released();
    this.#engine = engine;
    this.#open = open;
    this.width = width;
    this.selections = selections;
    this.least = stepsOf(selections);
    this.holds = asked | (into?.mask ? MASK : 0);
    const columns = selections.map((selection) => {
      const { keys, leaf, start, squeezed } = selection;
      const steps = this.#stepsOf(selection);
      // One of the last steps may have more than the window, and more in a shorter one.
      const array = this.gather(`into.steps.${keys.join(".")}.data`, leaf, steps, Math.max(steps.length, -start));
      return { array, shape: [n, ...(squeezed ? [] : [steps.length]), ...leaf.shape] };
    });
    const { arrays } = this;
    const part = (name: string, columns: Numbers): Numbers =>
      Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, arrays.take(`into.${name}.${key}`, column, arrayOf(column))]));
    const numbers = {
      lengths: arrays.take("into.lengths", LENGTH, Uint32Array),
      info: part("info", this.holds & WEIGHTS ? { ...INFO, weights: WEIGHT } : INFO),
      nStep: this.holds & RETURNS ? part("nStep", N_STEP) : undefined,
      mask: this.holds & MASK ? arrays.beside("into.mask", Uint8Array, width, width * n) : undefined,
    };
    this.#form = new BatchForm(arrays, { width, selections, nest: whole ? packer(engine.spec) : undefined, holds: this.holds, open, columns, numbers });
    if (into === undefined) this.renewed();
    else if (into instanceof DrawnBatch && this.#form.isAlike(slabOf(into).form)) this.#adopted(into);
    else this.#lent(into);
  }

  /** The batch that is filled. */
  get batch(): Writable<Batch<unknown>> {
    return this.#batch as Writable<Batch<unknown>>;
  }

  /** Goes on with a new batch. @throws ReplayError OUT_OF_MEMORY */
  renewed(): this {
    const { slab, texts } = this.renew();
    this.#batch = new DrawnBatch(new Slab(this.#form, slab, texts));
    return this;
  }

  /** Whether its batch is as a new one would be. */
  fits(n: number, width: number, selections: readonly Selection[], holds: number): boolean {
    return this.n === n && this.width === width && this.selections === selections && this.holds === holds;
  }

  /** Says where it goes when its batch is released. What came back is lent as a new batch: whoever still holds the one before cannot release it. */
  lentTo(home: Home<Filler>): this {
    this.#home = home;
    const batch = this.batch as DrawnBatch;
    const lent = isReleased(batch) ? new DrawnBatch(slabOf(batch)) : batch;
    lendOut(lent, this);
    this.#batch = lent;
    return this;
  }

  cameBack(): void {
    this.#home?.back(this);
  }

  override get canRefill(): boolean {
    return super.canRefill && Object.isExtensible(this.batch);
  }

  /** Gives the batch away, and keeps nothing of it. */
  given(): Batch<unknown> {
    const { batch } = this;
    this.#batch = undefined;
    this.leave();
    return batch;
  }

  /** Of items whose layouts are alike: each shows its own steps. @param layouts one an item; undefined where all show the same */
  show(layouts: readonly ColumnLayout[] | undefined): this {
    this.lists = layouts && stepLists(this.selections, layouts, this.width);
    this.layouts = layouts;
    return this;
  }

  /** Which steps each item of the batch shows, where they differ. */
  get layouts(): readonly Shown[] | undefined {
    return this.batch instanceof DrawnBatch ? layoutsOf(this.batch) : undefined;
  }

  set layouts(layouts: readonly Shown[] | undefined) {
    if (this.batch instanceof DrawnBatch) layOut(this.batch, layouts);
  }

  /** The same of every item. */
  shown(): readonly Shown[] {
    return this.layouts ?? new Array<Shown>(this.batch.count).fill(this.#form);
  }

  /** Every array of the batch, with its elements an item; the weights last. @param order that of the columns */
  rows(order = this.selections): Rows[] {
    const { steps, lengths, mask, nStep, info } = this.batch;
    const columns = order.map(({ keys }) => {
      const selection = this.selections.find((own) => own.keys.join() === keys.join()) as Selection;
      const { data } = valueAt(steps, selection.keys) as Column;
      return { data, each: this.#stepsOf(selection).length * selection.leaf.size };
    });
    const named = (group: object | undefined, names: object) => Object.keys(names).map((name) => (group as { readonly [name: string]: AnyArray })[name]);
    const numbers = [lengths, ...named(info, INFO), ...(this.holds & RETURNS ? named(nStep, N_STEP) : [])] as AnyArray[];
    const rows: Rows[] = [...columns, ...numbers.map((data) => ({ data, each: 1 }))];
    if (this.holds & MASK) rows.push({ data: mask as AnyArray, each: this.width });
    if (this.holds & WEIGHTS) rows.push({ data: info.weights as AnyArray, each: 1 });
    return rows;
  }

  override check(): void {
    super.check();
    const { batch } = this;
    if (isReleased(batch)) throw released();
    const { count, blocked } = batch;
    // A write that fails tells of a frozen batch, and costs less than to ask.
    try {
      batch.count = count;
      batch.blocked = blocked;
    } catch {
      mustBeWritable(batch, "count", "blocked");
    }
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  override fill(count: number): void {
    super.fill(count);
    const { mask } = this.#form.numbers;
    if (mask !== undefined) this.#fillMask(mask, count);
    this.batch.count = count;
  }

  #fillMask(array: number, count: number): void {
    const { core } = this.#engine;
    const mask = this.bytesOf(array);
    const lengths = this.draw.address(LENGTH) / 4;
    for (let i = 0, to = this.startOf(array); i < count; i++) for (let t = 0; t < this.width; t++) mask[to++] = Number(t < (core.u32[lengths + i] as number));
  }

  #adopted(into: DrawnBatch): void {
    const { slab, texts } = slabOf(into);
    this.adopt(slab, texts);
    this.#batch = into;
  }

  #lent(into: Into): void {
    const { columns, numbers } = this.#form;
    const { lengths, info, nStep, mask } = numbers;
    const arrays: unknown[] = [];
    for (const [i, { keys }] of this.selections.entries())
      arrays[(columns[i] as { readonly array: number }).array] = (valueAt(into.steps, keys) as Column | undefined)?.data;
    arrays[lengths] = into.lengths;
    for (const key in info) arrays[info[key] as number] = (into.info as unknown as { readonly [key: string]: unknown } | undefined)?.[key];
    for (const key in nStep) arrays[nStep[key] as number] = (into.nStep as unknown as { readonly [key: string]: unknown } | undefined)?.[key];
    if (mask !== undefined) arrays[mask] = into.mask;
    this.lend(arrays);
    this.#batch = into as Batch<unknown>;
  }

  #stepsOf(selection: Selection): readonly number[] {
    const { start, to = 0 } = selection;
    return stepIndices(this.#open && start >= 0 && to < 0 ? { ...selection, to: undefined } : selection, this.width);
  }
}

/** The error for a batch to refill that has been given back. */
export function released(): Error {
  const rule =
    "a batch that was not released, because another draw may have its memory (sample without recycle, or with table.batch(n, …), for a batch to keep)";
  return mustBe("SPEC_MISMATCH", "into", rule, "one that was released");
}

/** What a draw writes to a batch beside its arrays must be known to go in before anything is drawn. @throws ReplayError SPEC_MISMATCH */
export function mustBeWritable(into: object, ...names: readonly string[]): void {
  if (typeof into !== "object" || into === null) throw mustBe(TypeError, "into", "a batch to refill", into);
  for (const name of names)
    if (!Reflect.set(into, name, (into as { readonly [name: string]: unknown })[name]))
      throw mustBe("SPEC_MISMATCH", `into.${name}`, "there to be written, in a batch that is not frozen", into);
}
