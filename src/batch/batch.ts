/** A batch: the result of a sample, in arrays that belong to the caller. */

import { DISCOUNT, KEY, LENGTH, PRIORITY, PROBABILITY, RETURN, STEPS, TABLE_SIZE, TERMINATED, TIMES_SAMPLED, TRUNCATED } from "../base/abi.ts";
import { printsAs, showAll, Word } from "../base/prints.ts";
import type { Texts } from "../schema/arrays.ts";
import { Column, type ColumnLike, copied, isColumn, type NestedArray } from "../schema/column.ts";
import { columnNamed, type Selection, type Shown, stepIndices } from "../schema/columns.ts";
import { dtypeOf } from "../schema/dtype.ts";
import type { BoundedText, Leaf, RowLeaf, ShapeOf } from "../schema/leaf.ts";
import { zip } from "../schema/nest.ts";
import type { IsAny, LeafAt } from "../schema/spec.ts";

/** The column of a leaf. `Lead` are the dimensions before those of the leaf. */
type LeafColumn<L, Lead extends readonly number[]> =
  L extends Leaf<infer D> ? Column<D, [...Lead, ...ShapeOf<L>]> : L extends BoundedText ? Column<"string", [...Lead, ...ShapeOf<L>]> : Column;

/** The columns of whole items, nested like the spec. */
export type StepsOf<S, Lead extends readonly number[] = number[]> =
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  IsAny<S> extends true ? any : S extends RowLeaf ? LeafColumn<S, Lead> : { readonly [K in keyof S]: StepsOf<S[K], Lead> };

/** The same from a caller: anything with `data` and `shape` is a column. */
export type StepsLike<S> =
  IsAny<S> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: of any spec
      any
    : S extends Leaf<infer D>
      ? ColumnLike<D>
      : S extends BoundedText
        ? ColumnLike<"string">
        : { readonly [K in keyof S]: StepsLike<S[K]> };

/** The columns of a spec of which nothing is known: a column by every name, and nested. */
export type AnySteps = Column & { readonly [name: string]: AnySteps };

/** The columns that the option `columns` asks for: those of a single step have no dimension of time. */
export type ChosenOf<S, C> = {
  readonly [K in keyof C]: C[K] extends { readonly leaf: infer P extends string } ? LeafColumn<LeafAt<S, P>, LeadOf<C[K]>> : Column;
};
type LeadOf<C> = C extends { readonly at: number | "bootstrap" }
  ? [number]
  : C extends { readonly leaf: string; readonly at?: undefined }
    ? [number, number]
    : number[];

/** One item of a batch, in plain arrays: nested as the steps, each leaf without the dimension of items. */
export type ItemOf<Steps> = AnySteps extends Steps
  ? // biome-ignore lint/suspicious/noExplicitAny: of steps of which nothing is known
    any
  : Steps extends Column<infer D, infer Shape>
    ? Shape extends readonly [number, ...infer Rest extends number[]]
      ? NestedArray<Column<D>["data"][number], Rest>
      : // biome-ignore lint/suspicious/noExplicitAny: as deep as a shape that is not known
        any
    : { [K in keyof Steps]: ItemOf<Steps[K]> };

/** One number per item. */
export interface BatchInfo<Memory extends ArrayBufferLike = ArrayBuffer> {
  /** The key of the item, for `updatePriorities` and `delete`. Keys are never reused. */
  readonly keys: Float64Array<Memory>;
  /** The probability of the item in this draw. */
  readonly probabilities: Float64Array<Memory>;
  readonly priorities: Float64Array<Memory>;
  /** How often the item has been drawn, including this time. */
  readonly timesSampled: Uint32Array<Memory>;
  /** Number of items in the table at the draw. */
  readonly tableSizes: Uint32Array<Memory>;
  /** Importance weights, if `beta` was given. */
  readonly weights?: Float64Array<Memory>;
}

/** n-step returns, if `nStep` was given (Sutton and Barto, 2018, section 7.1). */
export interface NStepColumns<Memory extends ArrayBufferLike = ArrayBuffer> {
  /** r_0 + γ d_0 r_1 + … */
  readonly returns: Float64Array<Memory>;
  /** γ^k times the discounts on the way: the factor of the value after step k; 0 after a terminal step. */
  readonly discounts: Float64Array<Memory>;
  /** The actual number of steps k: n, or fewer at the end of the item or episode. */
  readonly steps: Uint32Array<Memory>;
  /** 1 if a terminal step ended the return. */
  readonly terminated: Uint8Array<Memory>;
  /** 1 if the episode ended without a terminal step: with a final step within the return, or, where nothing was seen last, before the return had n rewards. */
  readonly truncated: Uint8Array<Memory>;
}

/** Why a batch is shorter than requested. */
export interface Blocked {
  /**
   * minSize: the table has too few items · samplesPerInsert: the rate limiter needs inserts first · items: there are no more distinct items · columns: the next
   * item has other columns, and comes first in the next draw
   */
  readonly by: "minSize" | "samplesPerInsert" | "items" | "columns";
  readonly have: number;
  readonly need: number;
}

/** `Memory` is where its arrays are: in shared memory only if you made them. */
// biome-ignore lint/suspicious/noExplicitAny: without a type of steps it is a batch of any
export interface Batch<Steps = any, Memory extends ArrayBufferLike = ArrayBuffer> {
  /** Number of items in the batch. The rest of the arrays has no meaning. */
  readonly count: number;
  readonly steps: Steps;
  /** Number of steps of each item; the rest is zeros. */
  readonly lengths: Uint32Array<Memory>;
  /** 1 for a step, 0 for padding, of shape [items, steps], if `mask` was set. */
  readonly mask?: Uint8Array<Memory> | undefined;
  readonly info: BatchInfo<Memory>;
  readonly nStep?: NStepColumns<Memory> | undefined;
  readonly blocked: Blocked | undefined;
  /**
   * A copy of the items, to look at or to write as JSON: each is nested as the steps, with plain arrays and numbers, and without padding behind its last step.
   * A batch has it that Reprise made. O(elements)
   */
  toArray(): ItemOf<Steps>[];
  /**
   * A copy in plain objects, with an array of its own for each column: to send to a worker, or to keep some columns of. The arrays of a batch that Reprise made are views
   * on one piece of memory, which is transferred as a whole. O(bytes)
   */
  detached(): Omit<Batch<Steps>, Methods>;
  /**
   * Returns a batch sampled with `recycle` to its table. Don't read its arrays afterwards: a later draw, which is another batch, fills them again. No effect on other
   * batches, nor when it was released before. O(1)
   */
  release(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
}

type Methods = "toArray" | "detached" | "release" | typeof Symbol.dispose;

/** A batch of the caller's, to be refilled: its arrays may be in shared memory. */
export type Into = Omit<Batch<unknown, ArrayBufferLike>, Methods>;

/** What fills a batch that was lent. */
export interface Lender {
  cameBack(): void;
}

type Fields = Omit<Batch<unknown>, Methods>;

/** What batches of a kind have alike: their columns, and where their arrays are. */
export interface Form {
  /** Items at most. */
  readonly n: number;
  readonly selections: readonly Selection[];
  /** Steps of a whole window. */
  readonly width: number;
  /** Whether they are nested as the spec; else they stand under their names. */
  readonly isWhole: boolean;
  nest(values: readonly unknown[]): unknown;
  columnsOf(slab: ArrayBuffer, texts: Texts): Column[];
  numbersOf(slab: ArrayBuffer, name: "lengths" | "info" | "nStep" | "mask"): unknown;
}

/** One item of a batch: its columns without padding, or single values, in the order of the batch. */
export interface BatchItem {
  /** Whether they are nested as the spec. */
  readonly isWhole: boolean;
  readonly names: readonly string[];
  readonly columns: readonly unknown[];
}

/** For buffers: an item of a batch that Reprise made. */
export let itemOf: (batch: unknown, i: number) => BatchItem;

/** For fillers: what a batch that Reprise made is made of. */
export let slabOf: (batch: DrawnBatch) => Slab;
/** Says whose a batch is when it is released, which happens once. */
export let lendOut: (batch: DrawnBatch, lender: Lender) => void;
/** Whether a batch was lent and released: its memory may be that of another one. */
export let isReleased: (batch: unknown) => boolean;
/** Of items that are alike: which steps each shows. */
export let layoutsOf: (batch: DrawnBatch) => readonly Shown[] | undefined;
export let layOut: (batch: DrawnBatch, layouts: readonly Shown[] | undefined) => void;

/** The memory of a batch, its slab. The arrays are views on it, made when they are asked for. */
export class Slab {
  readonly form: Form;
  readonly slab: ArrayBuffer;
  readonly texts: Texts;
  #columns: readonly Column[] | undefined;
  #steps: unknown;
  #lengths: Fields["lengths"] | undefined;
  #info: Fields["info"] | undefined;
  #nStep: Fields["nStep"];
  #mask: Fields["mask"];

  constructor(form: Form, slab: ArrayBuffer, texts: Texts) {
    this.form = form;
    this.slab = slab;
    this.texts = texts;
  }

  get columns(): readonly Column[] {
    this.#columns ??= this.form.columnsOf(this.slab, this.texts);
    return this.#columns;
  }

  get steps(): unknown {
    this.#steps ??= this.form.nest(this.columns);
    return this.#steps;
  }

  get lengths(): Fields["lengths"] {
    this.#lengths ??= this.form.numbersOf(this.slab, "lengths") as Fields["lengths"];
    return this.#lengths;
  }

  get info(): Fields["info"] {
    this.#info ??= this.form.numbersOf(this.slab, "info") as Fields["info"];
    return this.#info;
  }

  get nStep(): Fields["nStep"] {
    this.#nStep ??= this.form.numbersOf(this.slab, "nStep") as Fields["nStep"];
    return this.#nStep;
  }

  get mask(): Fields["mask"] {
    this.#mask ??= this.form.numbersOf(this.slab, "mask") as Fields["mask"];
    return this.#mask;
  }
}

/** A batch in memory of its own. Memory that comes back is lent to a new batch each time: so the release of one ends its own lease, and no other. */
export class DrawnBatch implements Batch<unknown> {
  count = 0;
  blocked: Blocked | undefined = undefined;
  /** A field, so that `structuredClone`, which does not see the others, refuses the batch. */
  readonly detached: () => Fields = detached;
  readonly #of: Slab;
  #layouts: readonly Shown[] | undefined;
  /** Whom it goes back to, once. */
  #lender: Lender | undefined;
  #isReleased = false;

  static {
    itemOf = (batch, i) => (batch as DrawnBatch).#itemOf(i);
    slabOf = (batch) => batch.#of;
    lendOut = (batch, lender) => {
      batch.#lender = lender;
    };
    isReleased = (batch) => typeof batch === "object" && batch !== null && #of in batch && batch.#isReleased;
    layoutsOf = (batch) => batch.#layouts;
    layOut = (batch, layouts) => {
      batch.#layouts = layouts;
    };
    showAll(this, ["steps", "lengths", "info", "nStep", "mask"]);
  }

  constructor(of: Slab) {
    this.#of = of;
  }

  get steps(): unknown {
    return this.#of.steps;
  }

  get lengths(): Fields["lengths"] {
    return this.#of.lengths;
  }

  get info(): Fields["info"] {
    return this.#of.info;
  }

  get nStep(): Fields["nStep"] {
    return this.#of.nStep;
  }

  get mask(): Fields["mask"] {
    return this.#of.mask;
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

  toArray(): ItemOf<unknown>[] {
    return Array.from({ length: this.count }, (_, i) => {
      const values = this.#itemOf(i).columns.map((value) => (isColumn(value) ? (value as Column).toArray() : value));
      return this.#of.form.nest(values) as ItemOf<unknown>;
    });
  }

  #itemOf(i: number): BatchItem {
    const { columns, form } = this.#of;
    const { selections, width, isWhole } = form;
    const length = this.lengths[i] as number;
    const values = columns.map((column, c) => {
      const value = column.at(i);
      if (!isColumn(value)) return value;
      const joint = selections[c] as Selection;
      const selection = this.#layouts === undefined ? joint : columnNamed(this.#layouts[i] as Shown, joint.keys);
      // Lists, and what is counted from the end, have padding where it was asked for.
      const isRun = selection.steps === undefined && selection.start >= 0;
      const steps = isRun ? stepIndices(selection, width).filter((step) => step < length).length : (selection.steps ?? joint.steps)?.length;
      const { data, shape } = value as Column;
      const [n = 0, ...rest] = shape;
      if (steps === undefined || steps >= n || selection.squeezed) return value;
      return new Column(data.slice(0, (data.length / n) * steps) as Column["data"], [steps, ...rest]);
    });
    return { isWhole, names: selections.map(({ keys }) => keys.join(".")), columns: values };
  }
}

function detached(this: DrawnBatch): Fields {
  const { count, blocked, steps, lengths, info, nStep, mask } = this;
  return copied({ count, steps, lengths, info, ...(nStep && { nStep }), ...(mask && { mask }), blocked });
}

printsAs<DrawnBatch>(DrawnBatch, "Batch", ({ count, blocked, steps, lengths, info, nStep, mask }) => ({
  count,
  ...(blocked && { blocked }),
  steps: zip([steps], isColumn, ([column]) => brief(column as Column)),
  lengths: count === 0 ? new Word("none") : new Word(rangeOf(lengths.subarray(0, count))),
  info: new Word(Object.keys(info).join(", ")),
  ...(nStep && { nStep: new Word(Object.keys(nStep).join(", ")) }),
  ...(mask && { mask: brief({ data: mask, shape: [lengths.length, mask.length / lengths.length] }) }),
}));

/** A column in a word: `f32 [32, 1, 4]`. */
export function brief({ data, shape }: { readonly data: unknown; readonly shape: readonly number[] }): Word {
  return new Word(`${dtypeOf(data) ?? "string"} [${shape.join(", ")}]`);
}

function rangeOf(numbers: Uint32Array): string {
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)];
  return min === max ? String(min) : `${min} … ${max}`;
}

/** The columns of a draw behind `info` (without weights) and `nStep`. */
export const INFO = {
  keys: KEY,
  probabilities: PROBABILITY,
  priorities: PRIORITY,
  timesSampled: TIMES_SAMPLED,
  tableSizes: TABLE_SIZE,
};
const U32S: ReadonlySet<number> = new Set([TIMES_SAMPLED, TABLE_SIZE, LENGTH, STEPS]);
export const N_STEP = { returns: RETURN, discounts: DISCOUNT, steps: STEPS, terminated: TERMINATED, truncated: TRUNCATED };

/** The array class of a draw's column. */
export function arrayOf(column: number): Float64ArrayConstructor | Uint32ArrayConstructor | Uint8ArrayConstructor {
  return U32S.has(column) ? Uint32Array : column === TERMINATED || column === TRUNCATED ? Uint8Array : Float64Array;
}
