/** A batch: what a sample gives, in arrays that belong to the caller. */
import { type ArrayOf, DTYPES, type Dtype } from "./dtype.ts";
import { mustBe, ReplayError, show } from "./error.ts";
import type { IsAny, Leaf } from "./spec.ts";

/** One contiguous array, and its shape: batch, time (unless squeezed), then the leaf's own. */
export interface Column<D extends Dtype = Dtype> {
  readonly data: ArrayOf<D>;
  readonly shape: readonly number[];
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

/** A batch as the engine makes and fills it. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** New arrays for n items. */
export function newInfo(n: number, weights: boolean): BatchInfo {
  return {
    keys: new Float64Array(n),
    probabilities: new Float64Array(n),
    priorities: new Float64Array(n),
    timesSampled: new Uint32Array(n),
    tableSizes: new Uint32Array(n),
    ...(weights ? { weights: new Float64Array(n) } : {}),
  };
}

export function newNStep(n: number): NStepColumns {
  return {
    returns: new Float64Array(n),
    discounts: new Float64Array(n),
    steps: new Uint32Array(n),
    terminated: new Uint8Array(n),
    truncated: new Uint8Array(n),
  };
}

export function newColumn(dtype: Dtype, shape: readonly number[]): Column {
  return { data: new DTYPES[dtype].array(shape.reduce((product, n) => product * n, 1)), shape } as Column;
}

/** A caller's column, checked: the right typed array, long enough. */
export function givenColumn(path: string, column: unknown, dtype: Dtype, length: number): Column {
  const data = (column as Column | null | undefined)?.data;
  const { array, kind } = DTYPES[dtype];
  if (!(data instanceof array)) throw new ReplayError("SPEC_MISMATCH", mustBe(`into.steps.${path}.data`, `a ${kind}`, data));
  if (data.length < length) throw new RangeError(`into.steps.${path}.data must have at least ${length} elements, got ${show(data)}`);
  return column as Column;
}
