/** Defines the options and batches of transition views. */

import type { Column } from "../../schema/column.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import type { IsAny } from "../../schema/spec.ts";
import type { TransitionRole } from "../../schema/transition-roles.ts";
import type { ItemOf, StepsOf } from "../batch.ts";
import type { DatasetOptions } from "../dataset.ts";
import type { SampleOptions } from "../options.ts";
import type { RelabelOptions } from "./goals.ts";

export interface TransitionOptions<Name extends string = string, Path extends string = string> {
  /** The discount per step, in [0, 1]. */
  readonly gamma: number;
  /** The maximum number of steps of a transition. Longer items are cut. Default: no limit, so that an item of L steps becomes a transition of L - 1 steps. */
  readonly n?: number;
  /** The parts of the batch that also show the bootstrap step, as `nextAction`, `nextMask` …. */
  readonly next?: readonly Name[];
  /** The dtype of returns, discounts and weights. Default: "f32". */
  readonly dtype?: "f32" | "f64";
  /** The options of hindsight experience replay, which replaces the goals of some transitions with goals achieved in their episode. Default: no relabelling. */
  readonly relabel?: RelabelOptions<Path>;
}

export interface SampleTransitions extends Pick<SampleOptions, "recycle" | "replacement" | "among" | "stratified" | "normalize" | "beta"> {
  /** A batch of this view to refill, or your own arrays in the same form. Default: new arrays. */
  readonly into?: object;
}

export interface TransitionDatasetOptions
  extends SampleTransitions,
    Pick<DatasetOptions, "batchSize" | "signal" | "timeoutMs" | "dropRemainder" | "prefetch" | "epochs" | "shuffle" | "seed" | "state"> {}

/** A batch of any transition view. */
export interface AnyTransitions {
  count: number;
  release(): void;
  readonly keys: Float64Array;
  readonly [name: string]: unknown;
}

/** The path of a role's leaves: from `new Replay({ transition })`, or the role's own name. */
export type PathIn<R, Role extends TransitionRole> = 0 extends 1 & R ? Role : R extends { readonly [K in Role]: infer P extends string } ? P : Role;
type PathsIn<R> = { [Role in TransitionRole]: PathIn<R, Role> }[TransitionRole];

/** The node at a dotted path. */
export type NodeAt<S, P extends string> = P extends keyof S
  ? S[P]
  : P extends `${infer K}.${infer Rest}`
    ? K extends keyof S
      ? NodeAt<S[K], Rest>
      : never
    : never;

/** A node without its `Used` leaves and subtrees. */
export type Without<S, Used extends string, At extends string> = S extends RowLeaf | readonly unknown[]
  ? S
  : { readonly [K in keyof S & string as Left<S[K], Used, `${At}${K}`> extends never ? never : K]: Without<S[K], Used, `${At}${K}.`> };
/** The paths of the unused leaves at or below `At`; never if all are used. */
type Left<S, Used extends string, At extends string> = At extends Used
  ? never
  : S extends RowLeaf | readonly unknown[]
    ? At
    : { [K in keyof S & string]: Left<S[K], Used, `${At}.${K}`> }[keyof S & string];
type OthersOf<S, R> = Without<S, PathsIn<R>, "">;

/** The names that `next` accepts. */
export type NextName<S, R> = IsAny<S> extends true ? string : "action" | (keyof OthersOf<S, R> & string);

type FloatOf<O> = O extends { readonly dtype: infer D extends "f32" | "f64" } ? D : "f32";
type NextOf<O> = 0 extends 1 & O ? never : O extends { readonly next: readonly (infer Name extends string)[] } ? Name : never;
type PartAt<S, R, Name extends string> = Name extends "action" ? NodeAt<S, PathIn<R, "action">> : NodeAt<OthersOf<S, R>, Name>;

/** The columns of a batch that have one value per transition. */
interface TransitionColumns<Float extends "f32" | "f64", Returns extends readonly number[] = [number]> {
  /** The number of transitions in the batch. Ignore the array elements after these transitions. */
  readonly count: number;
  /** The return of each transition: r_0 + γ d_0 r_1 + … over its steps. A vector reward has one return per component. */
  readonly returns: Column<Float, Returns>;
  /** The factor of the value of nextObservation: γ^k times the discounts of the k steps; 0 if the episode terminated. */
  readonly discounts: Column<Float, [number]>;
  /** The number k of steps in each transition, from the first step to nextObservation. */
  readonly steps: Column<"u32", [number]>;
  /** 1 if the episode terminated within the transition. */
  readonly terminated: Column<"u8", [number]>;
  /** 1 if the episode ended within the transition without terminating. This includes a plain `endEpisode()`, at whose last step the transition bootstraps. */
  readonly truncated: Column<"u8", [number]>;
  /** The keys of the items, for `updatePriorities` and `delete`. Elements after `count` are 0, which is never a key. */
  readonly keys: Float64Array<ArrayBuffer>;
}

/**
 * A batch of transitions, in arrays that belong to the caller. Its columns are `observation`, `nextObservation`, `action`, the parts named in `next`, and every
 * other leaf of the spec under its own name. They have the shape [n, ...shape of the leaf]. Without type arguments, the type is a batch of any view.
 */
// biome-ignore lint/suspicious/noExplicitAny: any spec, roles and options
export type TransitionBatch<S = any, R = any, O = any, P = any> = PartsOf<S, R, O, P> & {
  /**
   * Returns a copy of the transitions in plain arrays and numbers under the same names, for inspection or JSON. Only batches that Reprise allocated have this
   * method. Costs O(elements).
   */
  toArray(): TransitionOf<PartsOf<S, R, O, P>>[];
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

/** One transition of a batch, under the same names. */
type TransitionOf<Parts> = { [K in keyof Parts as K extends "count" ? never : K]: Parts[K] extends Float64Array ? number : ItemOf<Parts[K]> };

/** The shape of returns: the dimensions of the batch, followed by the dimensions of the reward. */
export type ReturnsOf<S, R, Lead extends readonly number[]> = [S] extends [never]
  ? Lead
  : IsAny<S> extends true
    ? Lead
    : StepsOf<NodeAt<S, PathIn<R, "reward">>, Lead> extends { readonly shape: infer Shape extends readonly number[] }
      ? Shape
      : Lead;

type PartsOf<S, R, O, P> = TransitionColumns<FloatOf<O>, ReturnsOf<S, R, [number]>> &
  /** 1 if the transition has another goal, otherwise 0. */
  (O extends { readonly relabel: object } ? { readonly relabelled: Column<"u8", [number]> } : unknown) &
  (P extends { readonly beta: number } ? { readonly weights: Column<FloatOf<O>, [number]> } : unknown) &
  (IsAny<S> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: any spec
      { readonly [name: string]: any }
    : {
        readonly observation: StepsOf<NodeAt<S, PathIn<R, "observation">>, [number]>;
        readonly nextObservation: StepsOf<NodeAt<S, PathIn<R, "observation">>, [number]>;
        readonly action: StepsOf<NodeAt<S, PathIn<R, "action">>, [number]>;
      } & { readonly [K in keyof OthersOf<S, R>]: StepsOf<OthersOf<S, R>[K], [number]> } & {
        readonly [Name in NextOf<O> as `next${Capitalize<Name>}`]: StepsOf<PartAt<S, R, Name>, [number]>;
      });
