/** Defines the batch: the result of a sample, in arrays that belong to the caller. */

import { DISCOUNT, KEY, LENGTH, PRIORITY, PROBABILITY, STEPS, TABLE_SIZE, TERMINATED, TIMES_SAMPLED, TRUNCATED } from "../base/abi.ts";
import { customInspect, PlainText } from "../base/inspect.ts";
import { Column, type ColumnLike, copyColumns, isColumn, type NestedArray } from "../schema/column.ts";
import { columnNamed, type HasSelections, type Selection, stepIndices } from "../schema/columns.ts";
import { dtypeOf } from "../schema/dtype.ts";
import type { BoundedText, Leaf, RowLeaf, ShapeOf } from "../schema/leaf.ts";
import { setPart, valueAt, zip } from "../schema/nest.ts";
import type { IsAny, LeafAt } from "../schema/spec.ts";
import type { BatchLayout, ColumnSpec, Field, Lease } from "./layout.ts";

/** The column of a leaf. `Lead` is the list of dimensions that precede the dimensions of the leaf. */
type LeafColumn<L, Lead extends readonly number[]> =
  L extends Leaf<infer D> ? Column<D, [...Lead, ...ShapeOf<L>]> : L extends BoundedText ? Column<"string", [...Lead, ...ShapeOf<L>]> : Column;

/** The columns of whole items, nested like the spec. */
export type StepsOf<S, Lead extends readonly number[] = number[]> =
  // biome-ignore lint/suspicious/noExplicitAny: the spec is unknown
  IsAny<S> extends true ? any : S extends RowLeaf ? LeafColumn<S, Lead> : { readonly [K in keyof S]: StepsOf<S[K], Lead> };

/** The steps of a batch that the caller passes. Any object with `data` and `shape` counts as a column. */
export type StepsLike<S> =
  IsAny<S> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: the spec is unknown
      any
    : S extends Leaf<infer D>
      ? ColumnLike<D>
      : S extends BoundedText
        ? ColumnLike<"string">
        : { readonly [K in keyof S]: StepsLike<S[K]> };

/** The columns of an unknown spec. Every name may be a column or a nest of columns. */
export type AnySteps = Column & { readonly [name: string]: AnySteps };

/** The columns that the option `columns` selects. Columns of a single step have no time dimension. */
export type ChosenOf<S, C> = {
  readonly [K in keyof C]: C[K] extends { readonly leaf: infer P extends string } ? LeafColumn<LeafAt<S, P>, LeadOf<C[K]>> : Column;
};
type LeadOf<C> = C extends { readonly at: number | "bootstrap" }
  ? [number]
  : C extends { readonly leaf: string; readonly at?: undefined }
    ? [number, number]
    : number[];

/** One item of a batch in plain arrays: nested like the steps, each leaf without the dimension of items. */
export type ItemOf<Steps> = AnySteps extends Steps
  ? // biome-ignore lint/suspicious/noExplicitAny: the steps are unknown
    any
  : Steps extends Column<infer D, infer Shape>
    ? Shape extends readonly [number, ...infer Rest extends number[]]
      ? NestedArray<Column<D>["data"][number], Rest>
      : // biome-ignore lint/suspicious/noExplicitAny: the shape is unknown
        any
    : { [K in keyof Steps]: ItemOf<Steps[K]> };

/** The keys, probabilities and other numbers of a draw, one value per item. */
export interface BatchInfo<Memory extends ArrayBufferLike = ArrayBuffer> {
  /** The keys of the items, for `updatePriorities` and `delete`. Keys are never reused. */
  readonly keys: Float64Array<Memory>;
  /** The probability of each item in this draw. */
  readonly probabilities: Float64Array<Memory>;
  readonly priorities: Float64Array<Memory>;
  /** The number of times each item has been drawn, including this draw. */
  readonly timesSampled: Uint32Array<Memory>;
  /** The number of items in the table at each draw. */
  readonly tableSizes: Uint32Array<Memory>;
  /** The importance weights. Present if `beta` was passed. */
  readonly weights?: Float64Array<Memory>;
}

/** The n-step returns of a batch. Present if `nStep` was passed (Sutton and Barto, 2018, section 7.1). */
export interface NStepColumns<Memory extends ArrayBufferLike = ArrayBuffer> {
  /**
   * The n-step return of each item: r_0 + γ d_0 r_1 + …. If the reward has several components, each item has one return per component. The returns of an item
   * are adjacent.
   */
  readonly returns: Float64Array<Memory>;
  /** The factor for the value of the state in which each return ends: γ^k times the discounts of its k steps; 0 if the episode terminated. */
  readonly discounts: Float64Array<Memory>;
  /** The number k of rewards in each return. It is n, or less if a terminal step, or the end of the episode or item, comes first. */
  readonly steps: Uint32Array<Memory>;
  /** The terminal flag of each item: 1 if the episode terminated within the return, otherwise 0. */
  readonly terminated: Uint8Array<Memory>;
  /**
   * The truncation flag of each item: 1 if the return reaches the end of an episode that did not terminate. With `nextState: "following"`, such a return
   * bootstraps from the final step of the episode, or, if the episode has no final step, has fewer than n rewards.
   */
  readonly truncated: Uint8Array<Memory>;
}

/** The reason why a batch is shorter than requested. */
export interface Blocked {
  /**
   * The condition that limited the draws:
   * - minSize: the table has too few items;
   * - samplesPerInsert: the rate limiter requires inserts first;
   * - items: the table has no more distinct items;
   * - columns: the next item has different columns, and comes first in the next draw.
   */
  readonly by: "minSize" | "samplesPerInsert" | "items" | "columns";
  readonly have: number;
  readonly need: number;
}

/** The result of `sample`. `Memory` is the buffer type of its arrays. It is SharedArrayBuffer only if you allocated shared memory yourself. */
// biome-ignore lint/suspicious/noExplicitAny: the default accepts batches of every spec
export interface Batch<Steps = any, Memory extends ArrayBufferLike = ArrayBuffer> {
  /** The number of items in the batch. Ignore the array elements after these items. */
  readonly count: number;
  readonly steps: Steps;
  /** The number of steps per item. The remaining positions of a window are zeros. */
  readonly lengths: Uint32Array<Memory>;
  /** The mask of the batch, of shape [items, steps]: 1 for a step, 0 for padding. Present if `mask` was set. */
  readonly mask?: Uint8Array<Memory> | undefined;
  readonly info: BatchInfo<Memory>;
  readonly nStep?: NStepColumns<Memory> | undefined;
  readonly blocked: Blocked | undefined;
  /**
   * Returns a copy of the items in plain arrays and numbers, for inspection or JSON. Each item is nested like the steps, without padding. Only batches that
   * Reprise allocated have this method. Costs O(elements).
   */
  toArray(): ItemOf<Steps>[];
  /**
   * Returns a copy in plain objects with a separate array per column, to send to a worker or to keep only some columns. The arrays of the batch itself are
   * views of one buffer, which transfers only as a whole. Costs O(bytes).
   */
  detached(): Omit<Batch<Steps>, Methods>;
  /**
   * Returns a batch that was sampled with `recycle` to its table. Don't read its arrays afterwards, because a later draw reuses them for a different batch. Has
   * no effect on any other batch, or on a batch that is already released. Costs O(1).
   */
  release(): void;
  /** Calls `release`, for `using`. */
  [Symbol.dispose](): void;
}

type Methods = "toArray" | "detached" | "release" | typeof Symbol.dispose;

/** A batch that the caller passes as `into`. Its arrays may be in shared memory. */
export type Into = Omit<Batch<unknown, ArrayBufferLike>, Methods>;

type Fields = Omit<Batch<unknown>, Methods>;

/** A layout of items, with the steps and leaves that batches show. */
export interface ItemLayout extends BatchLayout {
  readonly selections: readonly Selection[];
  /** Whether the columns nest like the spec. Otherwise, each column is stored under its name. */
  readonly isWhole: boolean;
}

/** One item of a batch: its columns without padding, or single values, in the order of the batch. */
export interface BatchItem {
  /** Whether the columns nest like the spec. */
  readonly isWhole: boolean;
  readonly names: readonly string[];
  readonly selections: readonly Selection[];
  readonly columns: readonly unknown[];
}

/** The base of batches in their own memory: a lease on that memory, with columns as views that are created on first access. */
abstract class LeasedBatch {
  count: number;
  /** This is a field, so that `structuredClone` rejects the batch instead of copying it without its columns. */
  readonly detached: () => object;
  declare blocked?: Blocked | undefined;
  readonly #lease: Lease;

  constructor(lease: Lease) {
    this.count = 0;
    this.detached = detached;
    if (lease.layout.isBlockable) this.blocked = undefined;
    this.#lease = lease;
  }

  /** Returns the lease of a batch that Reprise made; undefined for other values. */
  static leaseOf(batch: unknown): Lease | undefined {
    return typeof batch === "object" && batch !== null && #lease in batch ? (batch as LeasedBatch).#lease : undefined;
  }

  release(): void {
    const lease = this.#lease;
    const { owner } = lease;
    if (owner === undefined) return;
    lease.owner = undefined;
    lease.isReleased = true;
    owner.back();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** Returns the columns in a form that JSON can represent. */
  toJSON(): object {
    return { count: this.count, ...columnsOf(this), ...(this.blocked && { blocked: this.blocked }) };
  }
}

function detached(this: LeasedBatch): object {
  const { count, blocked } = this;
  return copyColumns({ count, ...columnsOf(this), ...("blocked" in this && { blocked }) });
}

/** Returns the columns of a batch under their names. */
function columnsOf(batch: LeasedBatch): { readonly [name: string]: unknown } {
  const lease = leaseOf(batch);
  // A copy made by spreading has no lease.
  if (lease === undefined) return {};
  return Object.fromEntries(lease.layout.columns.map(({ name }, c) => [name, columnOf(lease, c)]));
}

/** Returns a column of a batch, as nested views of the memory of the batch. */
export function columnOf({ layout, memory, texts, columns }: Lease, c: number): unknown {
  if (columns[c] !== undefined) return columns[c];
  const { n, fields, starts } = layout;
  const { fields: numbers, nest } = layout.columns[c] as BatchLayout["columns"][number];
  const values: unknown[] = [];
  // The loop uses an index for speed, because this function runs for every batch that is read.
  for (let k = 0; k < numbers.length; k++) {
    const i = numbers[k] as number;
    const { type, each, shape } = fields[i] as Field;
    // If the memory was transferred, the column is empty.
    const array = type && (memory.byteLength === 0 ? new type(0) : new type(memory, starts[i] as number, n * each));
    const data = array ?? texts[i];
    values.push(shape === undefined ? data : new Column(data as Column["data"], shape.slice()));
  }
  columns[c] = nestedValues(nest, values);
  return columns[c];
}

/** Defines an enumerable getter for each column, so that assertions and `for … in` see the columns like fields. */
function defineColumns({ prototype }: { readonly prototype: LeasedBatch }, names: readonly string[]): void {
  for (const name of names) {
    const get = function (this: LeasedBatch) {
      const lease = leaseOf(this) as Lease;
      const { columns } = lease.layout;
      for (let c = 0; c < columns.length; c++) if ((columns[c] as { readonly name: string }).name === name) return lease.columns[c] ?? columnOf(lease, c);
      return undefined;
    };
    Object.defineProperty(prototype, name, { enumerable: true, get });
  }
}

/** Returns the lease of a batch that Reprise made; undefined for other values. */
export const { leaseOf } = LeasedBatch;

/** A batch of items. */
export class DrawnBatch extends LeasedBatch {
  toArray(): unknown[] {
    const nest = (leaseOf(this) as Lease).layout.columns[0]?.nest;
    const plain = (value: unknown) => (isColumn(value) ? (value as Column).toArray() : value);
    return Array.from({ length: this.count }, (_, i) => nestedValues(nest, itemOf(this, i).columns.map(plain)));
  }

  static {
    defineColumns(this, ["steps", "lengths", "info", "nStep", "mask"]);
    customInspect<DrawnBatch>(this, "Batch", (batch) => {
      const { count, blocked, steps, lengths, info, nStep, mask } = batch as unknown as Fields;
      return {
        count,
        ...(blocked && { blocked }),
        steps: zip([steps], isColumn, ([column]) => brief(column as Column)),
        lengths: count === 0 ? new PlainText("none") : new PlainText(rangeOf(lengths.subarray(0, count))),
        info: new PlainText(Object.keys(info).join(", ")),
        ...(nStep && { nStep: new PlainText(Object.keys(nStep).join(", ")) }),
        ...(mask && { mask: brief({ data: mask, shape: [lengths.length, mask.length / lengths.length] }) }),
      };
    });
  }
}

/** A batch of transitions. */
export class DrawnTransitions extends LeasedBatch {
  toArray(): object[] {
    const { keys, parts } = partsOf(this);
    const rowOf = (i: number) => (columns: readonly unknown[]) => {
      const value = (columns[0] as Column).at(i);
      return isColumn(value) ? (value as Column).toArray() : value;
    };
    return Array.from({ length: this.count }, (_, i) => ({ ...(zip([parts], isColumn, rowOf(i)) as object), keys: keys[i] }));
  }

  static {
    customInspect<DrawnTransitions>(this, "TransitionBatch", briefly);
  }
}

/** A batch of sequences. */
export class DrawnSequences extends DrawnTransitions {
  static {
    customInspect<DrawnSequences>(this, "SequenceBatch", briefly);
  }
}

/** Returns the count of a view's batch, and its columns, each as dtype and shape. */
function briefly(batch: DrawnTransitions): object {
  const { keys, parts } = partsOf(batch);
  const columns = zip([parts], isColumn, ([column]) => brief(column as Column)) as object;
  return { count: batch.count, ...columns, keys: brief({ data: keys, shape: [keys.length] }) };
}

/** Returns the keys of a view's batch, and separately its other columns. */
function partsOf(batch: DrawnTransitions): { readonly keys: Float64Array; readonly parts: object } {
  const { keys, ...parts } = columnsOf(batch);
  return { keys: keys as Float64Array, parts };
}

/** Returns the values of a column's arrays, nested as its layout defines. */
function nestedValues(nest: ColumnSpec["nest"], values: readonly unknown[]): unknown {
  if (nest === undefined) return values[0];
  if (typeof nest === "function") return nest(values);
  const node: { [name: string]: unknown } = {};
  for (let k = 0; k < nest.length; k++) {
    const name = nest[k] as string;
    if (name === "__proto__") setPart(node, name, values[k]);
    else node[name] = values[k];
  }
  return node;
}

/** Returns whether the columns of a batch nest like the spec. */
export function isWhole(batch: unknown): boolean {
  return ((leaseOf(batch) as Lease).layout as ItemLayout).isWhole;
}

/** Returns a class of batches of transitions with columns of these names. */
export function transitionsClass(names: readonly string[]): typeof DrawnTransitions {
  const { TransitionBatch } = { TransitionBatch: class extends DrawnTransitions {} };
  defineColumns(TransitionBatch, names);
  return TransitionBatch;
}

/** Returns a class of batches of sequences with columns of these names. */
export function sequencesClass(names: readonly string[]): typeof DrawnSequences {
  const { SequenceBatch } = { SequenceBatch: class extends DrawnSequences {} };
  defineColumns(SequenceBatch, names);
  return SequenceBatch;
}

/** Returns an item of a batch that Reprise made, for the buffers and samples of reprise/agents. */
export function itemOf(batch: unknown, i: number): BatchItem {
  const lease = leaseOf(batch) as Lease;
  const { itemLayouts } = lease;
  const { selections, width, isWhole, fields } = lease.layout as ItemLayout;
  const [steps, lengths] = [columnOf(lease, 0), columnOf(lease, 1) as Uint32Array];
  const length = lengths[i] as number;
  const values = selections.map((joint, c) => {
    const value = (valueAt(steps, (fields[c] as Field).keys.slice(1)) as Column).at(i);
    if (!isColumn(value)) return value;
    const selection = itemLayouts === undefined ? joint : columnNamed(itemLayouts[i] as HasSelections, joint.keys);
    // Lists of steps, and steps counted from the end, keep the padding that the caller requested.
    const isRun = selection.steps === undefined && selection.start >= 0;
    const count = isRun ? stepIndices(selection, width).filter((step) => step < length).length : (selection.steps ?? joint.steps)?.length;
    const { data, shape } = value as Column;
    const [n = 0, ...rest] = shape;
    if (count === undefined || count >= n || selection.squeezed) return value;
    return new Column(data.slice(0, (data.length / n) * count) as Column["data"], [count, ...rest]);
  });
  return { isWhole, names: selections.map(({ keys }) => keys.join(".")), selections, columns: values };
}

/** Returns a column as dtype and shape: `f32 [32, 1, 4]`. */
function brief({ data, shape }: { readonly data: unknown; readonly shape: readonly number[] }): PlainText {
  return new PlainText(`${dtypeOf(data) ?? "string"} [${shape.join(", ")}]`);
}

function rangeOf(numbers: Uint32Array): string {
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)];
  return min === max ? String(min) : `${min} … ${max}`;
}

/** The draw's columns that the batch's `info` contains, except weights. N_STEP has the columns that the batch's `nStep` contains, except returns. */
export const INFO = {
  keys: KEY,
  probabilities: PROBABILITY,
  priorities: PRIORITY,
  timesSampled: TIMES_SAMPLED,
  tableSizes: TABLE_SIZE,
};
const U32S: ReadonlySet<number> = new Set([TIMES_SAMPLED, TABLE_SIZE, LENGTH, STEPS]);
export const N_STEP = { discounts: DISCOUNT, steps: STEPS, terminated: TERMINATED, truncated: TRUNCATED };

/** Returns the array class of a draw's column. */
export function arrayOf(column: number): Float64ArrayConstructor | Uint32ArrayConstructor | Uint8ArrayConstructor {
  return U32S.has(column) ? Uint32Array : column === TERMINATED || column === TRUNCATED ? Uint8Array : Float64Array;
}
