/** A batch: what a sample gives, in arrays that belong to the caller. */
import { DISCOUNT, KEY, PRIORITY, PROBABILITY, RETURN, STEPS, TABLE_SIZE, TERMINATED, TIMES_SAMPLED, TRUNCATED } from "./core/abi.ts";
import type { ArrayOf, Dtype } from "./spec/dtype.ts";
import type { Leaf } from "./spec/leaf.ts";
import type { IsAny } from "./spec/spec.ts";

/** One contiguous array, and its shape: batch, time (unless squeezed), then the leaf's own. */
export interface Column<D extends Dtype = Dtype> {
  readonly data: ArrayOf<D>;
  readonly shape: readonly number[];
}

/** A nest may have these names, too; its `data` is no typed array. */
export function isColumn(value: unknown): value is Column {
  return typeof value === "object" && value !== null && ArrayBuffer.isView((value as Column).data) && Array.isArray((value as Column).shape);
}

/** The columns of a whole item, nested as the spec. */
export type StepsOf<S> = IsAny<S> extends true ? unknown : S extends Leaf<infer D> ? Column<D> : { readonly [K in keyof S]: StepsOf<S[K]> };

/** One number an item. */
export interface BatchInfo {
  /** Identity of the item, for `updatePriorities` and `delete`. Never reused. */
  readonly keys: Float64Array;
  /** The probability with which this draw gave the item. */
  readonly probabilities: Float64Array;
  readonly priorities: Float64Array;
  /** How often it has been drawn, this time included. */
  readonly timesSampled: Uint32Array;
  /** Items in the table at the draw. */
  readonly tableSizes: Uint32Array;
  /** Importance weights, where `beta` was given. */
  readonly weights?: Float64Array;
}

/** n-step returns, where `nStep` was given (Sutton and Barto, 2018, section 7.1). */
export interface NStepColumns {
  /** r_0 + γ d_0 r_1 + … */
  readonly returns: Float64Array;
  /** γ^k times the discounts on the way: what the value after step k is worth; 0 after a terminal step. */
  readonly discounts: Float64Array;
  /** The real number of steps k: n, or less at the end of the item or episode. */
  readonly steps: Uint32Array;
  /** 1 where a terminal step ended the return. */
  readonly terminated: Uint8Array;
  /** 1 where the episode ended without one. */
  readonly truncated: Uint8Array;
}

/** Why a batch is shorter than asked. */
export interface Blocked {
  /** minSize: too few items · samplesPerInsert: the rate limiter wants inserts first · items: no more distinct ones. */
  readonly by: "minSize" | "samplesPerInsert" | "items";
  readonly have: number;
  readonly need: number;
}

export interface Batch<Steps = unknown> {
  /** Items in the batch; what the arrays hold beyond them has no meaning. */
  readonly count: number;
  readonly steps: Steps;
  /** Steps of each item's window that are there; the rest is zeros. */
  readonly lengths: Uint32Array;
  /** 1 for a step, 0 for padding, batch × time, where `mask` was asked for. */
  readonly mask?: Uint8Array;
  readonly info: BatchInfo;
  readonly nStep?: NStepColumns;
  readonly blocked: Blocked | undefined;
}

/** The draw's columns behind `info` (without weights) and `nStep`. */
export const INFO = {
  keys: KEY,
  probabilities: PROBABILITY,
  priorities: PRIORITY,
  timesSampled: TIMES_SAMPLED,
  tableSizes: TABLE_SIZE,
};
export const N_STEP = { returns: RETURN, discounts: DISCOUNT, steps: STEPS, terminated: TERMINATED, truncated: TRUNCATED };

/** The class of a draw's column: f64, then u32, then u8 in the order of their numbers. */
export function arrayOf(column: number): Float64ArrayConstructor | Uint32ArrayConstructor | Uint8ArrayConstructor {
  return column < 8 ? Float64Array : column < TERMINATED ? Uint32Array : Uint8Array;
}
