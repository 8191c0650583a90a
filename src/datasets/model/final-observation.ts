/** Adds a final observation to an episode that ends with a transition, or removes that transition. */
import type { NumberArray } from "../../schema/dtype.ts";
import { blank } from "../../schema/leaf.ts";
import { createStepCopier } from "./copy-steps.ts";
import type { MaybeAsyncIterable, RldsStep, StepSpec } from "./dataset.ts";
import { fillElements, flagOf } from "./elements.ts";
import { isLazy, wholeColumn } from "./lazy-column.ts";
import { leavesOf } from "./leaves.ts";
import { applyStage, type Stage } from "./maybe-async.ts";
import { type ColumnData, StepColumns, slicedColumn } from "./step-columns.ts";

/** The fields that have no meaning in a final observation. */
const OUTCOMES: readonly unknown[] = ["action", "reward", "discount"];
/** The flags that move to the final observation. */
const ENDS: readonly unknown[] = ["is_last", "is_terminal"];

/**
 * Returns the columns of an episode with one more row, which repeats the last observation. The end flags move to that row. Its action, reward and discount are
 * zeros. O(bytes)
 */
export function columnsWithFinal(spec: StepSpec, data: readonly ColumnData[], length: number): ColumnData[] {
  return leavesOf(spec).map(({ keys, leaf, size }, k) => {
    const column = data[k] as ColumnData;
    if (isLazy(column) && !OUTCOMES.includes(keys[0])) return column.withLastAgain() as unknown as ColumnData;
    const longer = blank(leaf, size * (length + 1));
    copyElements(longer, wholeColumn(column), 0);
    const [field] = keys;
    if (OUTCOMES.includes(field) || (field === "is_first" && keys.length === 1)) return longer;
    copyElements(longer, slicedColumn(column, size * (length - 1), size * length), size * length);
    if (ENDS.includes(field) && keys.length === 1) copyElements(longer, blank(leaf, size), size * (length - 1));
    return longer;
  });
}

function copyElements(to: ColumnData, from: ColumnData, at: number): void {
  if (ArrayBuffer.isView(to)) (to as NumberArray).set(from as NumberArray, at);
  else for (let i = 0; i < from.length; i++) (to as (string | Uint8Array)[])[at + i] = from[i] as string;
}

/** Returns the steps of an episode that ends with a transition, plus a final step that repeats the last observation. Copies steps that arrive one by one. */
export function stepsWithFinal<S>(steps: MaybeAsyncIterable<S>): MaybeAsyncIterable<S> {
  if (steps instanceof StepColumns)
    return steps.length === 0 ? steps : new StepColumns<S>(steps.spec, columnsWithFinal(steps.spec, steps.parts, steps.length), steps.length + 1);
  return withLast(steps, (last) => [
    changed(last, (name, value) => (ENDS.includes(name) ? fillElements(value, false) : value)),
    changed(last, (name, value) => (OUTCOMES.includes(name) || name === "is_first" ? fillElements(value, false) : value)),
  ]);
}

/** Returns the steps without the last transition. The observation of that transition becomes the final observation, which is not terminal. */
export function stepsWithoutLastTransition<S>(steps: MaybeAsyncIterable<S>): MaybeAsyncIterable<S> {
  const isCleared = (name: unknown) => OUTCOMES.includes(name) || name === "is_terminal";
  if (steps instanceof StepColumns) {
    const { spec, parts: data, length } = steps;
    if (length === 0) return steps;
    const cleared = leavesOf(spec).map(({ keys, leaf, size }, k) => {
      if (!isCleared(keys[0])) return data[k] as ColumnData;
      const column = blank(leaf, size * length);
      copyElements(column, slicedColumn(wholeColumn(data[k] as ColumnData), 0, size * (length - 1)), 0);
      return column;
    });
    return new StepColumns<S>(spec, cleared, length);
  }
  return withLast(steps, (last) => [changed(last, (name, value) => (isCleared(name) ? fillElements(value, false) : value))]);
}

/** Returns whether the last step has `is_last` set, or undefined if there are no steps or if they arrive one by one. */
export function lastFlagOf(steps: MaybeAsyncIterable<unknown>): boolean | undefined {
  const last = steps instanceof StepColumns ? (steps.length === 0 ? undefined : steps.at(steps.length - 1)) : Array.isArray(steps) ? steps.at(-1) : undefined;
  return last === undefined ? undefined : flagOf((last as Partial<RldsStep>)?.is_last) === true;
}

/** Replaces the last step with the steps that `change` returns. An array remains an array. */
function withLast<S>(steps: MaybeAsyncIterable<S>, change: (last: S) => readonly S[]): MaybeAsyncIterable<S> {
  if (Array.isArray(steps)) return steps.length === 0 ? steps : [...steps.slice(0, -1), ...change(steps.at(-1))];
  const keep = createStepCopier(steps);
  return applyStage(steps, (): Stage<S, S> => {
    let waiting: S | undefined;
    return {
      push(step, output) {
        if (waiting !== undefined) output.push(waiting);
        waiting = keep(step);
        return true;
      },
      end(output) {
        if (waiting !== undefined) output.push(...change(waiting));
      },
    };
  });
}

function changed<S>(step: S, change: (name: string, value: unknown) => unknown): S {
  return Object.fromEntries(Object.entries(step as object).map(([name, value]) => [name, change(name, value)])) as S;
}
