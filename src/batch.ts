/** A batch: the result of a sample, in arrays that belong to the caller. */
import { DISCOUNT, KEY, PRIORITY, PROBABILITY, RETURN, STEPS, TABLE_SIZE, TERMINATED, TIMES_SAMPLED, TRUNCATED } from "./core/abi.ts";
import type { ArrayOfDtype, Dtype } from "./spec/dtype.ts";
import type { BoundedText, Leaf } from "./spec/leaf.ts";
import type { IsAny } from "./spec/spec.ts";

interface DataOf extends ArrayOfDtype {
  readonly string: string[];
}

/**
 * One flat array and its shape: items, steps (unless the column is a single step), then the shape of the leaf. Numbers are in a typed array, text
 * (`Column<"string">`) is in a plain one.
 */
export interface Column<D extends keyof DataOf = Dtype> {
  readonly data: DataOf[D];
  readonly shape: readonly number[];
}

/** A nest may have these names, too; its `shape` has no numbers. */
export function isColumn(value: unknown): value is Column {
  const { data, shape } = (value ?? {}) as Partial<Column>;
  return (ArrayBuffer.isView(data) || Array.isArray(data)) && Array.isArray(shape) && shape.every((n) => typeof n === "number");
}

/** The columns of whole items, nested like the spec. */
export type StepsOf<S> =
  IsAny<S> extends true ? unknown : S extends Leaf<infer D> ? Column<D> : S extends BoundedText ? Column<"string"> : { readonly [K in keyof S]: StepsOf<S[K]> };

/** One number per item. */
export interface BatchInfo {
  /** The key of the item, for `updatePriorities` and `delete`. Keys are never reused. */
  readonly keys: Float64Array;
  /** The probability of the item in this draw. */
  readonly probabilities: Float64Array;
  readonly priorities: Float64Array;
  /** How often the item has been drawn, including this time. */
  readonly timesSampled: Uint32Array;
  /** Number of items in the table at the draw. */
  readonly tableSizes: Uint32Array;
  /** Importance weights, if `beta` was given. */
  readonly weights?: Float64Array;
}

/** n-step returns, if `nStep` was given (Sutton and Barto, 2018, section 7.1). */
export interface NStepColumns {
  /** r_0 + γ d_0 r_1 + … */
  readonly returns: Float64Array;
  /** γ^k times the discounts on the way: the factor of the value after step k; 0 after a terminal step. */
  readonly discounts: Float64Array;
  /** The actual number of steps k: n, or fewer at the end of the item or episode. */
  readonly steps: Uint32Array;
  /** 1 if a terminal step ended the return. */
  readonly terminated: Uint8Array;
  /** 1 if the episode ended without a terminal step. */
  readonly truncated: Uint8Array;
}

/** Why a batch is shorter than requested. */
export interface Blocked {
  /** minSize: the table has too few items · samplesPerInsert: the rate limiter needs inserts first · items: there are no more distinct items */
  readonly by: "minSize" | "samplesPerInsert" | "items";
  readonly have: number;
  readonly need: number;
}

export interface Batch<Steps = unknown> {
  /** Number of items in the batch. The rest of the arrays has no meaning. */
  readonly count: number;
  readonly steps: Steps;
  /** Number of steps of each item; the rest is zeros. */
  readonly lengths: Uint32Array;
  /** 1 for a step, 0 for padding, of shape [items, steps], if `mask` was set. */
  readonly mask?: Uint8Array;
  readonly info: BatchInfo;
  readonly nStep?: NStepColumns;
  readonly blocked: Blocked | undefined;
}

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
