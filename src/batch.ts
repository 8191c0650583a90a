/** A batch: the result of a sample, in arrays that belong to the caller. */
import { DISCOUNT, KEY, PRIORITY, PROBABILITY, RETURN, STEPS, TABLE_SIZE, TERMINATED, TIMES_SAMPLED, TRUNCATED } from "./core/abi.ts";
import type { ArrayOfDtype, Dtype } from "./spec/dtype.ts";
import type { BoundedText, Leaf, RowLeaf, ShapeOf } from "./spec/leaf.ts";
import type { IsAny, LeafAt } from "./spec/spec.ts";

interface DataOf extends ArrayOfDtype {
  readonly string: string[];
}

/**
 * One flat array and its shape: items, steps (unless the column is a single step), then the shape of the leaf. Numbers are in a typed array, text
 * (`Column<"string">`) is in a plain one. The type of the shape is as concrete as the spec: `[number, number, 84, 84]`.
 */
export interface Column<D extends keyof DataOf = Dtype, Shape extends readonly number[] = number[]> {
  readonly data: DataOf[D];
  readonly shape: Shape;
}

/** A nest may have these names, too; its `shape` has no numbers. */
export function isColumn(value: unknown): value is Column {
  const { data, shape } = (value ?? {}) as Partial<Column>;
  return (ArrayBuffer.isView(data) || Array.isArray(data)) && Array.isArray(shape) && shape.every((n) => typeof n === "number");
}

/** The column of a leaf. `Lead` are the dimensions before those of the leaf. */
type LeafColumn<L, Lead extends readonly number[]> =
  L extends Leaf<infer D> ? Column<D, [...Lead, ...ShapeOf<L>]> : L extends BoundedText ? Column<"string", [...Lead, ...ShapeOf<L>]> : Column;

/** The columns of whole items, nested like the spec. */
export type StepsOf<S, Lead extends readonly number[] = number[]> =
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  IsAny<S> extends true ? any : S extends RowLeaf ? LeafColumn<S, Lead> : { readonly [K in keyof S]: StepsOf<S[K], Lead> };

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
  /** 1 if the episode ended without a terminal step. */
  readonly truncated: Uint8Array<Memory>;
}

/** Why a batch is shorter than requested. */
export interface Blocked {
  /** minSize: the table has too few items · samplesPerInsert: the rate limiter needs inserts first · items: there are no more distinct items */
  readonly by: "minSize" | "samplesPerInsert" | "items";
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
  readonly mask?: Uint8Array<Memory>;
  readonly info: BatchInfo<Memory>;
  readonly nStep?: NStepColumns<Memory>;
  readonly blocked: Blocked | undefined;
}

/** A batch of the caller's, to be refilled: its arrays may be in shared memory. */
export type Into = Batch<unknown, ArrayBufferLike>;

/** The columns of a draw behind `info` (without weights) and `nStep`. */
export const INFO = {
  keys: KEY,
  probabilities: PROBABILITY,
  priorities: PRIORITY,
  timesSampled: TIMES_SAMPLED,
  tableSizes: TABLE_SIZE,
};
export const N_STEP = { returns: RETURN, discounts: DISCOUNT, steps: STEPS, terminated: TERMINATED, truncated: TRUNCATED };

/** The array class of a draw's column: f64, then u32, then u8, in the order of their numbers. */
export function arrayOf(column: number): Float64ArrayConstructor | Uint32ArrayConstructor | Uint8ArrayConstructor {
  return column < 8 ? Float64Array : column < TERMINATED ? Uint32Array : Uint8Array;
}
