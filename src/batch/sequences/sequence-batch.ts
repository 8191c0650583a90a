/** What a view of sequences is asked, and what it gives. */

import type { Column } from "../../schema/column.ts";
import type { IsAny } from "../../schema/spec.ts";
import type { ItemOf, StepsOf } from "../batch.ts";
import type { NodeAt, PathIn, ReturnsOf, SampleTransitions, TransitionDatasetOptions, Without } from "../transitions/transition-batch.ts";

export interface SequenceViewOptions<Name extends string = string> {
  /** The discount per step, in [0, 1]. */
  readonly gamma: number;
  /** Rewards of a full return. Default: 1. */
  readonly n?: number;
  /** Parts of the batch of which only the first step is shown, such as the stored state of a recurrent network: their columns have no dimension of time. */
  readonly state?: readonly Name[];
  /** Steps of a window: shorter sequences are padded, longer ones cut. Default: the longest that items of the table and rules of open writers have. */
  readonly length?: number;
  /** The dtype of returns, discounts and weights. Default: "f32". */
  readonly dtype?: "f32" | "f64";
}

export type SampleSequences = SampleTransitions;
export type SequenceDatasetOptions = TransitionDatasetOptions;

export interface PriorityOptions {
  /** The share of the largest error; that of the mean is 1 - eta. Default: 0.9, as in R2D2. */
  readonly eta?: number;
  /** An array of at least `batch.count` elements to fill. Default: a new one. */
  readonly into?: Float64Array;
}

/** A batch of any view of sequences. */
export interface AnySequences {
  count: number;
  release(): void;
  readonly keys: Float64Array;
  readonly [name: string]: unknown;
}

type Used<R> = PathIn<R, "observation"> | PathIn<R, "action"> | PathIn<R, "reward">;
type OthersOf<S, R> = Without<S, Used<R>, "">;
/** The parts that `state` can name. */
export type StateName<S, R> = IsAny<S> extends true ? string : keyof OthersOf<S, R> & string;

type FloatOf<O> = O extends { readonly dtype: infer D extends "f32" | "f64" } ? D : "f32";
type StateOf<O> = 0 extends 1 & O ? never : O extends { readonly state: readonly (infer Name extends string)[] } ? Name : never;

/** Numbers of each step of each sequence; behind a sequence that is shorter they are 0. */
interface SequenceColumns<Float extends "f32" | "f64", Returns extends readonly number[] = [number, number]> {
  /** Number of sequences in the batch. The rest of the arrays has no meaning. */
  readonly count: number;
  /** r_0 + γ d_0 r_1 + … of up to n steps, fewer where the episode or the sequence ends; 0 of a step that no step follows. Of a reward of several numbers, each by itself. */
  readonly returns: Column<Float, Returns>;
  /** γ^k times the discounts on the way: what the value of the bootstrap step counts; 0 where the episode terminated. */
  readonly discounts: Column<Float, [number, number]>;
  /** The place in the sequence of the step from which the return bootstraps; the step itself if no step follows it. */
  readonly bootstraps: Column<"u32", [number, number]>;
  /** 1 for a step, 0 for padding. */
  readonly mask: Column<"u8", [number, number]>;
  /** 1 for a step to learn from: behind the burn-in, and followed by a step of its episode or terminal. */
  readonly learningMask: Column<"u8", [number, number]>;
  /** 1 for the first step of an episode. Of an item that no rule of `sequence` made it is not known of the first step, and 0. */
  readonly isFirst: Column<"u8", [number, number]>;
  /** 1 for the last step of an episode: its final one, or the newest before a plain `endEpisode()`. */
  readonly isLast: Column<"u8", [number, number]>;
  /** 1 for the last step of an episode that terminated. */
  readonly isTerminal: Column<"u8", [number, number]>;
  /** The keys of the items, for `updatePriorities` and `delete`; 0, which is no item's, behind `count`. */
  readonly keys: Float64Array<ArrayBuffer>;
}

/**
 * A batch of sequences, in arrays that belong to the caller. Columns have the shape [n, T, ...shape of the leaf]: `observation`, `action`, `reward`, and every leaf of the
 * spec that plays none of these parts, under its own name; parts named in `state` have the shape [n, ...shape of the leaf]. Without type arguments it is one of any view.
 */
// biome-ignore lint/suspicious/noExplicitAny: of any spec, roles and options
export type SequenceBatch<S = any, R = any, O = any, P = any> = PartsOf<S, R, O, P> & {
  /** A copy of the sequences, to look at or to write as JSON: plain arrays and numbers under the same names. A batch has it that Reprise made. O(elements) */
  toArray(): SequenceOf<PartsOf<S, R, O, P>>[];
  /** A copy in plain objects, with an array of its own for each column: to send to a worker, or to keep some columns of. O(bytes) */
  detached(): PartsOf<S, R, O, P>;
  /**
   * Returns a batch sampled with `recycle` to its view. Don't read its arrays afterwards: a later draw, which is another batch, fills them again. No effect on other
   * batches, nor when it was released before. O(1)
   */
  release(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
};

/** One sequence of a batch, under the same names. */
type SequenceOf<Parts> = { [K in keyof Parts as K extends "count" ? never : K]: Parts[K] extends Float64Array ? number : ItemOf<Parts[K]> };

type PartsOf<S, R, O, P> = SequenceColumns<FloatOf<O>, ReturnsOf<S, R, [number, number]>> &
  (P extends { readonly beta: number } ? { readonly weights: Column<FloatOf<O>, [number]> } : unknown) &
  (IsAny<S> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: of any spec
      { readonly [name: string]: any }
    : { readonly [Role in "observation" | "action" | "reward"]: StepsOf<NodeAt<S, PathIn<R, Role>>, [number, number]> } & {
        readonly [K in Exclude<keyof OthersOf<S, R>, StateOf<O>>]: StepsOf<OthersOf<S, R>[K], [number, number]>;
      } & { readonly [K in keyof OthersOf<S, R> & StateOf<O>]: StepsOf<OthersOf<S, R>[K], [number]> });
