/** Defines the options and batches of sequence views. */

import type { Column } from "../../schema/column.ts";
import type { IsAny } from "../../schema/spec.ts";
import type { ItemOf, StepsOf } from "../batch.ts";
import type { NodeAt, PathIn, ReturnsOf, SampleTransitions, TransitionDatasetOptions, Without } from "../transitions/transition-batch.ts";

export interface SequenceViewOptions<Name extends string = string> {
  /** The discount per step, in [0, 1]. */
  readonly gamma: number;
  /** The number of rewards in a full return. Default: 1. */
  readonly n?: number;
  /** The names of the parts that are shown only at the first step, such as the stored state of a recurrent network. Their columns have no time dimension. */
  readonly state?: readonly Name[];
  /**
   * The number of steps per window. Shorter sequences are padded, and longer ones are cut. Default: the length of the longest item, or of the longest rule of
   * an open writer.
   */
  readonly length?: number;
  /** The dtype of returns, discounts and weights. Default: "f32". */
  readonly dtype?: "f32" | "f64";
}

export type SampleSequences = SampleTransitions;
export type SequenceDatasetOptions = TransitionDatasetOptions;

export interface PriorityOptions {
  /** The weight of the largest error. The mean of the errors has the weight 1 - eta. Default: 0.9, as in R2D2. */
  readonly eta?: number;
  /** An array of at least `batch.count` elements to fill. Default: a new array. */
  readonly into?: Float64Array;
}

/** A batch of any sequence view. */
export interface AnySequences {
  count: number;
  release(): void;
  readonly keys: Float64Array;
  readonly [name: string]: unknown;
}

type Used<R> = PathIn<R, "observation"> | PathIn<R, "action"> | PathIn<R, "reward">;
type OthersOf<S, R> = Without<S, Used<R>, "">;
/** The names that `state` accepts. */
export type StateName<S, R> = IsAny<S> extends true ? string : keyof OthersOf<S, R> & string;

type FloatOf<O> = O extends { readonly dtype: infer D extends "f32" | "f64" } ? D : "f32";
type StateOf<O> = 0 extends 1 & O ? never : O extends { readonly state: readonly (infer Name extends string)[] } ? Name : never;

/** The columns with one value per step of each sequence. Values after the end of a shorter sequence are 0. */
interface SequenceColumns<Float extends "f32" | "f64", Returns extends readonly number[] = [number, number]> {
  /** The number of sequences in the batch. Ignore the array elements after these sequences. */
  readonly count: number;
  /**
   * The return of each step: r_0 + γ d_0 r_1 + … over up to n steps, and over fewer at the end of the episode or sequence. 0 for a step without a following
   * step. A vector reward has one return per component.
   */
  readonly returns: Column<Float, Returns>;
  /** The factor of the value at the bootstrap step: γ^k times the discounts of the k steps before that step; 0 if the episode terminated. */
  readonly discounts: Column<Float, [number, number]>;
  /** The position in the sequence of the step from which the return bootstraps. It is the position of the step itself if no step follows. */
  readonly bootstraps: Column<"u32", [number, number]>;
  /** 1 for a step, 0 for padding. */
  readonly mask: Column<"u8", [number, number]>;
  /** 1 for a step to learn from. Such a step is after the burn-in, and is either terminal or followed by another step of its episode. */
  readonly learningMask: Column<"u8", [number, number]>;
  /**
   * 1 for the first step of an episode. If no `sequence` rule made the item, its first step has 0, since the position of the step in the episode is unknown.
   */
  readonly isFirst: Column<"u8", [number, number]>;
  /** 1 for the last step of an episode: its final step, or the newest step before a plain `endEpisode()`. */
  readonly isLast: Column<"u8", [number, number]>;
  /** 1 for the last step of an episode that terminated. */
  readonly isTerminal: Column<"u8", [number, number]>;
  /** The keys of the items, for `updatePriorities` and `delete`. Elements after `count` are 0, which is never a key. */
  readonly keys: Float64Array<ArrayBuffer>;
}

/**
 * A batch of sequences, in arrays that belong to the caller. Its columns are `observation`, `action`, `reward`, and every other leaf of the spec under its own
 * name. They have the shape [n, T, ...shape of the leaf]. Parts named in `state` have the shape [n, ...shape of the leaf]. Without type arguments, the type is
 * a batch of any view.
 */
// biome-ignore lint/suspicious/noExplicitAny: any spec, roles and options
export type SequenceBatch<S = any, R = any, O = any, P = any> = PartsOf<S, R, O, P> & {
  /**
   * Returns a copy of the sequences in plain arrays and numbers under the same names, for inspection or JSON. Only batches that Reprise allocated have this
   * method. Costs O(elements).
   */
  toArray(): SequenceOf<PartsOf<S, R, O, P>>[];
  /** Returns a copy in plain objects with a separate array per column, to send to a worker or to keep only some columns. Costs O(bytes). */
  detached(): PartsOf<S, R, O, P>;
  /**
   * Returns a batch that was sampled with `recycle` to its view. Don't read its arrays afterwards, because a later draw reuses them for a different batch. Has
   * no effect on any other batch, or on a batch that is already released. Costs O(1).
   */
  release(): void;
  /** Calls `release`, for `using`. */
  [Symbol.dispose](): void;
};

/** One sequence of a batch, under the same names. */
type SequenceOf<Parts> = { [K in keyof Parts as K extends "count" ? never : K]: Parts[K] extends Float64Array ? number : ItemOf<Parts[K]> };

type PartsOf<S, R, O, P> = SequenceColumns<FloatOf<O>, ReturnsOf<S, R, [number, number]>> &
  (P extends { readonly beta: number } ? { readonly weights: Column<FloatOf<O>, [number]> } : unknown) &
  (IsAny<S> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: any spec
      { readonly [name: string]: any }
    : { readonly [Role in "observation" | "action" | "reward"]: StepsOf<NodeAt<S, PathIn<R, Role>>, [number, number]> } & {
        readonly [K in Exclude<keyof OthersOf<S, R>, StateOf<O>>]: StepsOf<OthersOf<S, R>[K], [number, number]>;
      } & { readonly [K in keyof OthersOf<S, R> & StateOf<O>]: StepsOf<OthersOf<S, R>[K], [number]> });
