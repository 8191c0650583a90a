/** What a sample gives: a batch, or a list. */
import { trimStack } from "../../base/stack-trace.ts";
import type { Column } from "../../schema/column.ts";
import type { BoundedText, Leaf, ObjectLeaf } from "../../schema/leaf.ts";
import type { PartSpec } from "./leaf.ts";
import type { StepSpec } from "./step-spec.ts";

/** Whether nothing is known of a spec: then neither is of its columns. */
type IsAny<S> = [PartSpec] extends [S] ? true : false;

// biome-ignore lint/suspicious/noExplicitAny: of a spec that is inferred nothing is known before it runs
type AnyColumn = any;

/** The columns of a part, nested as it is; an object column is a plain array. */
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
 * Transitions as typed arrays, `[n, …leaf]` each. Where items have several steps (`numSteps` above 1), `state` and `action` are those of the first, `nextState` and
 * `nextAction` those of the last; `reward`, `isStateTerminal` and the extras are of each step, `[n, numSteps, …leaf]`, and `lengths` tells how many steps are there. Of
 * whole episodes every column is of each step. What is not there is zeros, in object columns null.
 */
export interface TransitionBatch<S extends StepSpec = StepSpec> {
  readonly count: number;
  readonly lengths: Uint32Array<ArrayBuffer>;
  /** Identity of each item, for `updateErrors`. Never used again for another one. */
  readonly keys: Float64Array<ArrayBuffer>;
  /** With which each item would have been the first one drawn. */
  readonly probabilities: Float64Array<ArrayBuffer>;
  readonly state: ColumnsOf<S["state"]>;
  readonly action: ColumnsOf<S["action"]>;
  readonly reward: S["reward"] extends Leaf<infer D> ? Column<D> : Column<"f64">;
  readonly nextState: ColumnsOf<S["state"]>;
  readonly nextAction: ColumnsOf<S["action"]>;
  readonly isStateTerminal: Column<"bool">;
  /** 0 where there was no next state, or action; its column is zeros there. */
  readonly hasNextState: Column<"bool">;
  readonly hasNextAction: Column<"bool">;
  readonly extras: S["extras"] extends { readonly [name: string]: PartSpec }
    ? { readonly [K in keyof S["extras"]]: ColumnsOf<S["extras"][K]> }
    : { readonly [name: string]: ColumnsOf<PartSpec> };
  /** 0 where a step came without the extra, and behind the end of an item. */
  readonly hasExtras: { readonly [K in S["extras"] extends object ? keyof S["extras"] : string]: Column<"bool"> };
}

/** A batch with importance weights. */
export interface WeightedBatch<S extends StepSpec = StepSpec> extends TransitionBatch<S> {
  readonly weights: Float64Array<ArrayBuffer>;
}

/** A batch whatever its spec. */
export interface AnyBatch extends TransitionBatch {
  readonly weights?: Float64Array<ArrayBuffer>;
}

/** The message for programs that loop over a batch. */
export function noItems(): TypeError {
  return trimStack(new TypeError('a batch has columns, and no items to go over: take the list form, { form: "list" }'));
}

/** A list of what was drawn, with what is told of each beside it. */
export type SampleList<T> = readonly T[] & {
  /** Identity of each item, for `updateErrors`. */
  readonly keys: Float64Array<ArrayBuffer>;
  /** Importance weights, where the buffer gives them. */
  readonly weights?: Float64Array<ArrayBuffer>;
};

export function createSampleList<T>(list: T[], info: { readonly keys: Float64Array; readonly weights?: Float64Array }): SampleList<T> {
  // Not among the elements: a list is compared, and printed, as a list.
  Object.defineProperties(list, { keys: { value: info.keys }, weights: { value: info.weights } });
  return list as unknown as SampleList<T>;
}
