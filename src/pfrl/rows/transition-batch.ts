/** Implements the results of `sample`: a batch, or a list. */
import { trimStack } from "../../base/stack-trace.ts";
import type { Column } from "../../schema/column.ts";
import type { BoundedText, Leaf, ObjectLeaf } from "../../schema/leaf.ts";
import type { PartSpec } from "./leaf.ts";
import type { StepSpec } from "./step-spec.ts";

/** Whether the spec, and therefore the set of columns, is unknown. */
type IsAny<S> = [PartSpec] extends [S] ? true : false;

// biome-ignore lint/suspicious/noExplicitAny: an inferred spec is not known before run time
type AnyColumn = any;

/** The columns of a part, with its nesting. An object column is a plain array. */
export type ColumnsOf<S> =
  IsAny<S> extends true
    ? AnyColumn
    : S extends ObjectLeaf
      ? unknown[]
      : S extends Leaf<infer D>
        ? Column<D>
        : S extends BoundedText
          ? Column<"string">
          : { readonly [K in keyof S]: ColumnsOf<S[K]> };

/**
 * Transitions as typed arrays, each `[n, …leaf]`. If items have several steps (`numSteps` above 1), `state` and `action` belong to the first step, and
 * `nextState` and `nextAction` belong to the last step. `reward`, `isStateTerminal` and the extras then have one value per step, `[n, numSteps, …leaf]`, and
 * `lengths` has the number of steps. For whole episodes, every column has one value per step. Missing values are zeros, or null in object columns.
 */
export interface TransitionBatch<S extends StepSpec = StepSpec> {
  readonly count: number;
  readonly lengths: Uint32Array<ArrayBuffer>;
  /** The permanent key of each item, for `updateErrors`. Keys are never reused. */
  readonly keys: Float64Array<ArrayBuffer>;
  /** For each item, the probability that the item is drawn first. */
  readonly probabilities: Float64Array<ArrayBuffer>;
  readonly state: ColumnsOf<S["state"]>;
  readonly action: ColumnsOf<S["action"]>;
  readonly reward: S["reward"] extends Leaf<infer D> ? Column<D> : Column<"f64">;
  readonly nextState: ColumnsOf<S["state"]>;
  readonly nextAction: ColumnsOf<S["action"]>;
  readonly isStateTerminal: Column<"bool">;
  /** The presence flags of the next state and of the next action. If a flag is 0, the item has no such value, and the column contains a zero. */
  readonly hasNextState: Column<"bool">;
  readonly hasNextAction: Column<"bool">;
  readonly extras: S["extras"] extends { readonly [name: string]: PartSpec }
    ? { readonly [K in keyof S["extras"]]: ColumnsOf<S["extras"][K]> }
    : { readonly [name: string]: ColumnsOf<PartSpec> };
  /** The presence flags of each extra. 0 for steps without the extra, and after the end of an item. */
  readonly hasExtras: { readonly [K in S["extras"] extends object ? keyof S["extras"] : string]: Column<"bool"> };
}

/** A batch with importance weights. */
export interface WeightedBatch<S extends StepSpec = StepSpec> extends TransitionBatch<S> {
  readonly weights: Float64Array<ArrayBuffer>;
}

/** A batch of any spec. */
export interface AnyBatch extends TransitionBatch {
  readonly weights?: Float64Array<ArrayBuffer>;
}

/** Returns the error for a program that iterates over a batch. */
export function noItems(): TypeError {
  return trimStack(new TypeError('a batch has columns, and cannot be iterated. Pass { form: "list" } to sample a list'));
}

/** A list of drawn transitions, with information about each item. */
export type SampleList<T> = readonly T[] & {
  /** The permanent key of each item, for `updateErrors`. */
  readonly keys: Float64Array<ArrayBuffer>;
  /** Importance weights, if the buffer computes them. */
  readonly weights?: Float64Array<ArrayBuffer>;
};

export function createSampleList<T>(list: T[], info: { readonly keys: Float64Array; readonly weights?: Float64Array }): SampleList<T> {
  // The keys are not enumerable, so that the list is compared and printed as a list.
  Object.defineProperties(list, { keys: { value: info.keys }, weights: { value: info.weights } });
  return list as unknown as SampleList<T>;
}
