/** How one batch of transitions is filled, or one after the other that are alike. */

import { DISCOUNT, KEY, RETURN, STEPS, TERMINATED, TRUNCATED, WEIGHT } from "../../base/abi.ts";
import { printsAs } from "../../base/prints.ts";
import type { Engine } from "../../memory/engine.ts";
import type { Arrays, Texts } from "../../schema/arrays.ts";
import { Column, copied, isColumn } from "../../schema/column.ts";
import type { AnyArray, ArrayClass } from "../../schema/dtype.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { packer, valueAt, zip } from "../../schema/nest.ts";
import { brief, type Lender } from "../batch.ts";
import { mustBeWritable, released } from "../filler.ts";
import { Gatherer } from "../gatherer.ts";
import type { Rows } from "../joined.ts";
import type { Home } from "../returned.ts";
import type { TransitionForm } from "./form.ts";

/** A batch of any view. */
export interface AnyTransitions {
  count: number;
  release(): void;
  readonly keys: Float64Array;
  readonly [name: string]: unknown;
}

interface Slab {
  readonly parts: Parts;
  readonly slab: ArrayBuffer;
  readonly texts: Texts;
  /** Parts that were asked for. */
  readonly views: Map<string, unknown>;
}

/** The columns of a part, and how they are nested. */
interface Columns {
  readonly nest: (values: readonly unknown[]) => unknown;
  readonly columns: readonly { readonly array: number; readonly shape: readonly number[] }[];
}

/** What batches of a kind have alike: the numbers of their arrays, of each part's leaves or of one number a transition. Nothing here is of a Replay. */
class Parts {
  readonly arrays: Arrays;
  readonly form: TransitionForm;
  readonly float: ArrayClass;
  /** Whether they have importance weights. */
  readonly weighted: boolean;
  readonly columns: ReadonlyMap<string, Columns>;
  readonly numbers: ReadonlyMap<string, number>;

  constructor(
    arrays: Arrays,
    form: TransitionForm,
    float: ArrayClass,
    weighted: boolean,
    columns: ReadonlyMap<string, Columns>,
    numbers: ReadonlyMap<string, number>,
  ) {
    this.arrays = arrays;
    this.form = form;
    this.float = float;
    this.weighted = weighted;
    this.columns = columns;
    this.numbers = numbers;
  }

  /** In the order of a batch. */
  get names(): string[] {
    return [...this.columns.keys(), ...this.numbers.keys()];
  }

  /** Whether the arrays of its batches are where those of others are. */
  isAlike({ arrays, form, float, weighted }: Parts): boolean {
    return this.arrays.n === arrays.n && this.form === form && this.float === float && this.weighted === weighted;
  }

  /** A part of a batch of this kind. */
  of(name: string, { slab, texts }: Slab): unknown {
    const { arrays } = this;
    const column = (array: number, shape: readonly number[]) => new Column(arrays.view(array, slab, texts) as Column["data"], [arrays.n, ...shape]);
    const number = this.numbers.get(name);
    if (number !== undefined) return name === "keys" ? arrays.view(number, slab, texts) : column(number, []);
    const { nest, columns } = this.columns.get(name) as Columns;
    return nest(columns.map(({ array, shape }) => column(array, shape)));
  }
}

/** What a batch that Reprise made is made of. */
let slabOf: (batch: object) => Slab | undefined;
let lendOut: (batch: DrawnTransitions, lender: Lender) => void;
let isReleased: (batch: object) => boolean;
let partOf: (batch: DrawnTransitions, name: string) => unknown;

/**
 * A batch in memory of its own, its slab. Its parts are views on that, made when they are asked for. Memory that comes back is lent to a new batch each time: so the
 * release of one ends its own lease, and no other.
 */
class DrawnTransitions {
  count = 0;
  /** A field, so that `structuredClone`, which does not see the parts, refuses the batch. */
  readonly detached: () => object = detached;
  readonly #of: Slab;
  /** Whom it goes back to, once. */
  #lender: Lender | undefined;
  #isReleased = false;

  static {
    slabOf = (batch) => (#of in batch ? batch.#of : undefined);
    lendOut = (batch, lender) => {
      batch.#lender = lender;
    };
    isReleased = (batch) => #of in batch && batch.#isReleased;
    partOf = (batch, name) => {
      const of = batch.#of;
      const known = of.views.get(name);
      if (known !== undefined) return known;
      const part = of.parts.of(name, of);
      of.views.set(name, part);
      return part;
    };
    printsAs<DrawnTransitions>(this, "TransitionBatch", (batch) => {
      const { keys, ...parts } = partsOf(batch);
      const briefly = zip([parts], isColumn, ([column]) => brief(column as Column)) as object;
      return { count: batch.count, ...briefly, keys: brief({ data: keys, shape: [(keys as AnyArray).length] }) };
    });
  }

  constructor(of: Slab) {
    this.#of = of;
  }

  release(): void {
    const lender = this.#lender;
    if (lender === undefined) return;
    this.#lender = undefined;
    this.#isReleased = true;
    lender.cameBack();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  toArray(): object[] {
    const { keys, ...parts } = partsOf(this);
    const rowOf = (i: number) => (columns: readonly unknown[]) => {
      const value = (columns[0] as Column).at(i);
      return isColumn(value) ? value.toArray() : value;
    };
    return Array.from({ length: this.count }, (_, i) => ({ ...(zip([parts], isColumn, rowOf(i)) as object), keys: (keys as AnyArray)[i] }));
  }
}

/** Whether a batch that Reprise made has importance weights. */
export function isWeighted(batch: unknown): boolean | undefined {
  return typeof batch === "object" && batch !== null ? slabOf(batch)?.parts.weighted : undefined;
}

/** The parts of a batch under their names, as own fields. */
function partsOf(batch: object): { [name: string]: unknown } {
  const names = slabOf(batch)?.parts.names ?? [];
  return Object.fromEntries(names.map((name) => [name, partOf(batch as DrawnTransitions, name)]));
}

function detached(this: DrawnTransitions): object {
  return { count: this.count, ...copied(partsOf(this)) };
}

/** A class of batches with parts of these names. */
function batchClass(names: readonly string[]): typeof DrawnTransitions {
  const { TransitionBatch } = { TransitionBatch: class extends DrawnTransitions {} };
  for (const name of names) {
    const get = function (this: DrawnTransitions) {
      return partOf(this, name);
    };
    Object.defineProperty(TransitionBatch.prototype, name, { enumerable: true, get });
  }
  return TransitionBatch;
}

/** The classes of a view's batches: without weights, and with them. */
const classes = new WeakMap<TransitionForm, [plain?: typeof DrawnTransitions, weighted?: typeof DrawnTransitions]>();

function classOf({ form, names, weighted }: Parts): typeof DrawnTransitions {
  const known = classes.get(form) ?? [];
  classes.set(form, known);
  known[Number(weighted)] ??= batchClass(names);
  return known[Number(weighted)] as typeof DrawnTransitions;
}

export class TransitionFiller extends Gatherer {
  /** Rows of the longest transition that it has room for. */
  readonly width: number;
  /** Whether it has importance weights. */
  readonly weighted: boolean;
  readonly #parts: Parts;
  readonly #class: typeof DrawnTransitions;
  /** Whether arrays were given, which may be longer. */
  #isGiven = false;
  /** Where it goes when its batch comes back. */
  #home: Home<TransitionFiller> | undefined;
  #batch: AnyTransitions | undefined;

  /**
   * @param float the class of returns, discounts and weights
   * @param into the batch; without it a new one is made
   * @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one
   */
  constructor(engine: Engine, n: number, width: number, form: TransitionForm, float: ArrayClass, weighted: boolean, into?: object) {
    super(engine, n, width);
    if (into !== undefined) mustBeWritable(into, "count");
    if (into !== undefined && isReleased(into)) throw released();
    this.width = width;
    this.weighted = weighted;
    const columns = new Map<string, Columns>();
    for (const { name, spec, leaves, at } of form.parts) {
      const arrayOf = (keys: readonly string[], leaf: PlacedLeaf) => this.gather(`into.${[name, ...keys, "data"].join(".")}`, leaf, at);
      columns.set(name, { nest: packer(spec), columns: leaves.map(({ keys, leaf }) => ({ array: arrayOf(keys, leaf), shape: leaf.shape })) });
    }
    const { arrays } = this;
    const take = (name: string, column: number, kind: ArrayClass, path = `${name}.data`) => [name, arrays.take(`into.${path}`, column, kind)] as const;
    const numbers = new Map([
      take("returns", RETURN, float),
      take("discounts", DISCOUNT, float),
      take("steps", STEPS, Uint32Array),
      take("terminated", TERMINATED, Uint8Array),
      take("truncated", TRUNCATED, Uint8Array),
      ...(weighted ? [take("weights", WEIGHT, float)] : []),
      take("keys", KEY, Float64Array, "keys"),
    ]);
    this.#parts = new Parts(arrays, form, float, weighted, columns, numbers);
    this.#class = classOf(this.#parts);
    if (into === undefined) this.renewed();
    else this.#refills(into);
  }

  /** The batch that is filled. */
  get batch(): AnyTransitions {
    return this.#batch as AnyTransitions;
  }

  /** Goes on with a new batch. @throws ReplayError OUT_OF_MEMORY */
  renewed(): this {
    this.#batch = new this.#class({ parts: this.#parts, ...this.renew(), views: new Map() }) as object as AnyTransitions;
    return this;
  }

  /** Says where it goes when its batch is released. What came back is lent as a new batch: whoever still holds the one before cannot release it. */
  lentTo(home: Home<TransitionFiller>): this {
    this.#home = home;
    const batch = this.batch as object as DrawnTransitions;
    const lent = isReleased(batch) ? new this.#class(slabOf(batch) as Slab) : batch;
    lendOut(lent, this);
    this.#batch = lent as object as AnyTransitions;
    return this;
  }

  cameBack(): void {
    this.#home?.back(this);
  }

  override get canRefill(): boolean {
    return super.canRefill && Object.isExtensible(this.batch);
  }

  /** Gives the batch away, and keeps nothing of it. */
  given(): AnyTransitions {
    const { batch } = this;
    this.#batch = undefined;
    this.leave();
    return batch;
  }

  /** Every array of the batch, with its elements an item. */
  rows(): Rows[] {
    const dataAt = (...keys: readonly string[]) => valueAt(this.batch, keys) as AnyArray;
    const { form, numbers } = this.#parts;
    const parts = form.parts.flatMap(({ name, leaves }) => leaves.map(({ keys, leaf }) => ({ data: dataAt(name, ...keys, "data"), each: leaf.size })));
    return [...parts, ...[...numbers.keys()].map((name) => ({ data: name === "keys" ? dataAt(name) : dataAt(name, "data"), each: 1 }))];
  }

  override check(): void {
    super.check();
    if (isReleased(this.batch)) throw released();
    if (!Object.isExtensible(this.batch)) mustBeWritable(this.batch, "count");
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  override fill(count: number): void {
    super.fill(count);
    this.ends(count);
  }

  /** Notes how many there are. */
  ends(count: number): void {
    this.batch.count = count;
    // No keys of an earlier draw: whoever updates by all of them would reach its items.
    if (count < this.n || this.#isGiven) this.batch.keys.fill(0, count);
  }

  #refills(into: object): void {
    const made = slabOf(into);
    this.#batch = into as AnyTransitions;
    if (made !== undefined && this.#parts.isAlike(made.parts)) this.adopt(made.slab, made.texts);
    else this.lend(this.#arraysOf(into));
    this.#isGiven = true;
  }

  #arraysOf(into: object): unknown[] {
    const { form, columns, numbers } = this.#parts;
    const arrays: unknown[] = [];
    for (const { name, leaves } of form.parts)
      for (const [i, { array }] of (columns.get(name) as Columns).columns.entries()) arrays[array] = valueAt(into, [name, ...(leaves[i]?.keys ?? []), "data"]);
    for (const [name, number] of numbers) arrays[number] = valueAt(into, name === "keys" ? [name] : [name, "data"]);
    return arrays;
  }
}
