/** How one batch object of `sample` is filled. */
import { arrayOf, type Batch, DrawnBatch, INFO, type Into, N_STEP } from "../batch.ts";
import { Column } from "../column.ts";
import { mustBe } from "../error.ts";
import { type ColumnLayout, type Selection, type Shown, stepIndices, stepLists, stepsOf } from "../spec/columns.ts";
import { type AnyArray, type ArrayClass, DTYPES } from "../spec/dtype.ts";
import { valueAt } from "../spec/nest.ts";
import { kindOf, typedLength } from "../typed.ts";
import { LENGTH, WEIGHT } from "./abi.ts";
import type { Engine } from "./engine.ts";
import { Gatherer } from "./gatherer.ts";
import type { Rows } from "./joined.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a batch may hold beside steps, lengths and info; as bits. */
export const WEIGHTS = 1;
export const RETURNS = 2;
export const MASK = 4;

export class Filler extends Gatherer {
  readonly batch: Writable<Batch<unknown>>;
  readonly width: number;
  readonly selections: readonly Selection[];
  /** Steps that the longest item must have for these. */
  readonly least: number;
  /** WEIGHTS, RETURNS, MASK where the batch has them. */
  readonly holds: number;
  readonly #mask: Uint8Array | undefined;
  readonly #lengths: Uint32Array;
  /** Whether runs go on to the end of the window, wherever they should stop: how wide the whole batch will be is not known yet. */
  readonly #open: boolean;

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
    this.#open = open;
    this.width = width;
    this.selections = selections;
    this.least = stepsOf(selections);
    this.holds = asked | (into?.mask ? MASK : 0);
    const array = (path: string, given: unknown, kind: ArrayClass, each: number) => takeArray(`into.${path}`, into === undefined, given, kind, n * each);
    const columns = selections.map((selection) => {
      const { keys, leaf, squeezed, start } = selection;
      const steps = this.#stepsOf(selection);
      const count = steps.length;
      const { dtype } = leaf.leaf;
      const path = `steps.${keys.join(".")}.data`;
      const given: unknown = (valueAt(into?.steps, keys) as Column | undefined)?.data;
      const data =
        dtype === "string"
          ? takeTexts(`into.${path}`, into === undefined, given, n * count * leaf.size)
          : array(path, given, DTYPES[dtype].array, count * leaf.size);
      // One of the last steps may have more than the window, and more in a shorter one.
      this.gather(`into.${path}`, leaf, steps, data, Math.max(count, -start));
      return new Column(data as Column["data"], [n, ...(squeezed ? [] : [count]), ...leaf.shape]);
    });
    const drawn = (path: string, given: unknown, column: number) => {
      const kind = arrayOf(column);
      const target = array(path, given, kind, 1);
      this.take(`into.${path}`, column, target, kind);
      return target;
    };
    const part = (name: "info" | "nStep", names: { readonly [name: string]: number }) => {
      const given = into?.[name] as { readonly [name: string]: unknown } | undefined;
      return Object.fromEntries(Object.entries(names).map(([key, column]) => [key, drawn(`${name}.${key}`, given?.[key], column)]));
    };
    const fields = {
      lengths: drawn("lengths", into?.lengths, LENGTH),
      info: part("info", this.holds & WEIGHTS ? { ...INFO, weights: WEIGHT } : INFO),
      nStep: this.holds & RETURNS ? part("nStep", N_STEP) : undefined,
      mask: this.holds & MASK ? array("mask", into?.mask, Uint8Array, width) : undefined,
    };
    this.#mask = fields.mask && this.lend("into.mask", fields.mask, Uint8Array, n * width);
    this.#lengths = fields.lengths as Uint32Array;
    const form = { columns, selections, width, spec: whole ? engine.spec : undefined };
    this.batch = (into as Batch<unknown> | undefined) ?? new DrawnBatch(form, fields as never);
  }

  /** Of items whose layouts are alike: each shows its own steps. @param layouts one an item; undefined where all show the same */
  show(layouts: readonly ColumnLayout[] | undefined): this {
    this.lists = layouts && stepLists(this.selections, layouts, this.width);
    this.layouts = layouts;
    return this;
  }

  /** Which steps each item of the batch shows, where they differ. */
  get layouts(): readonly Shown[] | undefined {
    return this.batch instanceof DrawnBatch ? this.batch.layouts : undefined;
  }

  set layouts(layouts: readonly Shown[] | undefined) {
    if (this.batch instanceof DrawnBatch) this.batch.layouts = layouts;
  }

  /** The same of every item. */
  shown(): readonly Shown[] {
    return this.layouts ?? new Array<Shown>(this.batch.count).fill(this);
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
    if (!Object.isExtensible(this.batch)) mustBeWritable(this.batch, "count", "blocked");
  }

  #stepsOf(selection: Selection): readonly number[] {
    const { start, to = 0 } = selection;
    return stepIndices(this.#open && start >= 0 && to < 0 ? { ...selection, to: undefined } : selection, this.width);
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  override fill(count: number): void {
    super.fill(count);
    const mask = this.#mask;
    const lengths = this.#lengths;
    if (mask !== undefined) for (let i = 0, to = 0; i < count; i++) for (let t = 0; t < this.width; t++) mask[to++] = Number(t < (lengths[i] as number));
    this.batch.count = count;
  }
}

/** What a draw writes to a batch beside its arrays must be known to go in before anything is drawn. @throws ReplayError SPEC_MISMATCH */
export function mustBeWritable(into: object, ...names: readonly string[]): void {
  if (typeof into !== "object" || into === null) throw mustBe(TypeError, "into", "a batch to refill", into);
  for (const name of names)
    if (!Reflect.set(into, name, (into as { readonly [name: string]: unknown })[name]))
      throw mustBe("SPEC_MISMATCH", `into.${name}`, "there to be written, in a batch that is not frozen", into);
}

/** A new array, or the one that was given, of at least so many elements. @throws ReplayError SPEC_MISMATCH, OUT_OF_MEMORY */
export function takeArray(path: string, isNew: boolean, given: unknown, array: ArrayClass, length: number): AnyArray {
  const target = isNew ? madeArray(path, array, length) : given;
  if (kindOf(target) === array.name && typedLength(target as AnyArray) >= length) return target as AnyArray;
  throw mustBe("SPEC_MISMATCH", path, `a ${array.name} of at least ${length} elements`, target);
}

function madeArray(path: string, array: ArrayClass, length: number): AnyArray {
  try {
    return new array(length);
  } catch {
    const remedy = "ask for fewer items, or fewer or shorter windows of them";
    throw mustBe("OUT_OF_MEMORY", path.replace("into.", "a batch's "), `small enough for this runtime's arrays (${remedy})`, `${length} elements`);
  }
}

/** The array of a batch's texts: a new one, or the one that was given, however long it is. */
export function takeTexts(path: string, isNew: boolean, given: unknown, n: number): string[] {
  if (isNew) return new Array<string>(n).fill("");
  if (!Array.isArray(given)) throw mustBe("SPEC_MISMATCH", path, "an array", given);
  return given;
}
