/** Groups steps into windows, like `rlds.transformations.batch`. */
import { flag, integer, onlyKeys } from "../../../base/error.ts";
import { MAX_LENGTH } from "../../../base/limits.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import { map, packer } from "../../../schema/nest.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { MaybeAsyncIterable, RldsDataset, RldsStep, StepSpec } from "../../model/dataset.ts";
import { withSteps } from "../../model/derive.ts";
import { leavesOf } from "../../model/leaves.ts";
import { applyStage, checkIterable, type Stage } from "../../model/maybe-async.ts";
import { type ColumnData, type StepColumn, StepColumns, slicedColumn } from "../../model/step-columns.ts";
import { misfitError, stepChecker, stepSpecOf } from "../../model/step-spec.ts";
import { stacker } from "./stacked.ts";

export interface BatchOptions {
  /** The number of steps per window. */
  readonly size: number;
  /** The number of steps between the starts of two consecutive windows. Default: `size`, as in `rlds`, so windows do not overlap. */
  readonly shift?: number;
  /** The distance between two consecutive steps in a window, in steps of the episode. Default: 1. */
  readonly stride?: number;
  /** Whether to leave out shorter windows at the end of an episode. Default: false. */
  readonly dropRemainder?: boolean;
}

/** Several steps as columns, nested like a step. The number of steps is the first dimension of each leaf. */
export type StepBatch<S = RldsStep> = S extends object ? { readonly [field in keyof S]: StepColumn | { readonly [name: string]: unknown } } : StepColumn;

/**
 * Replaces the steps of each episode with windows of steps. For transitions, use `batch(rlds, {size: 2, shift: 1, dropRemainder: true})`. The spec of the
 * windows is known only if all windows have the same size. If steps are columns and the stride is 1, windows are views instead of copies. Works lazily, and
 * keeps one window in memory. Each window costs O(elements).
 * @throws TypeError, RangeError if an argument is invalid
 * @throws RldsError SPEC_MISMATCH during iteration if steps have different forms
 */
export function batch<S = RldsStep>(rlds: RldsDataset<S>, options: BatchOptions): RldsDataset<StepBatch<S>> {
  const windows = parseOptions(options);
  return withSteps(
    rlds,
    (steps, episode) => batches<S>(steps, windows, () => rlds.stepSpec, episode),
    (spec) => (windows.dropRemainder ? withLead(spec, windows.size) : undefined),
  );
}

/** Replaces the steps of one episode with windows of steps, like `batch`. */
export function batchSteps<S = RldsStep>(steps: MaybeAsyncIterable<S>, options: BatchOptions, stepSpec?: StepSpec): MaybeAsyncIterable<StepBatch<S>> {
  return batches<S>(checkIterable("steps", steps), parseOptions(options), () => stepSpec);
}

function parseOptions(options: BatchOptions): Required<BatchOptions> {
  const { size, shift = size, stride = 1, dropRemainder = false } = onlyKeys("options", options, "size, shift, stride, dropRemainder");
  integer("size", size, 1, MAX_LENGTH);
  integer("shift", shift, 1, MAX_LENGTH);
  integer("stride", stride, 1, MAX_LENGTH);
  flag("dropRemainder", dropRemainder);
  return { size, shift, stride, dropRemainder };
}

function withLead(spec: StepSpec, size: number): StepSpec {
  return map(spec, (leaf) => ({ ...leaf, shape: [size, ...leaf.shape] }));
}

function batches<S>(
  steps: MaybeAsyncIterable<S>,
  options: Required<BatchOptions>,
  spec: () => StepSpec | undefined,
  episode?: number,
): MaybeAsyncIterable<StepBatch<S>> {
  if (steps instanceof StepColumns && options.stride === 1 && !isLeaf(steps.spec)) return views<S>(steps, options);
  return applyStage(steps, () => stage<S>(options, createStepCopier(steps), spec, episode));
}

function views<S>(steps: StepColumns<S>, { size, shift, dropRemainder }: Required<BatchOptions>): Iterable<StepBatch<S>> {
  return {
    *[Symbol.iterator]() {
      const { length, spec, data } = steps;
      const leaves = leavesOf(spec);
      const nest = packer(spec);
      for (let from = 0; from < length && !(dropRemainder && from + size > length); from += shift) {
        const to = Math.min(from + size, length);
        const columns = leaves.map(({ leaf, size: n }, k): StepColumn => {
          return { data: slicedColumn(data[k] as ColumnData, from * n, to * n), shape: [to - from, ...leaf.shape] };
        });
        yield nest(columns) as StepBatch<S>;
      }
    },
  };
}

function stage<S>(
  { size, shift, stride, dropRemainder }: Required<BatchOptions>,
  keep: (step: S) => S,
  getSpec: () => StepSpec | undefined,
  episode?: number,
): Stage<S, StepBatch<S>> {
  const span = (size - 1) * stride + 1;
  let check: ReturnType<typeof stepChecker> | undefined;
  let stack: ReturnType<typeof stacker> | undefined;
  // The steps from the first step of the next window on. `skipped` is the number of steps before that window that must still be skipped.
  let waiting: S[] = [];
  let skipped = 0;
  let index = 0;
  const emit = (output: StepBatch<S>[]) => {
    const window = waiting.filter((_, i) => i % stride === 0);
    output.push(stack?.(window) as StepBatch<S>);
    skipped = Math.max(0, shift - waiting.length);
    waiting = waiting.slice(shift);
  };
  return {
    push(step, output) {
      const place = { episode, step: index++ };
      if (check === undefined) {
        const spec = getSpec() ?? stepSpecOf(step, place);
        check = stepChecker(spec);
        stack = stacker(spec);
      }
      const mismatch = check(step);
      if (mismatch !== undefined) throw misfitError(mismatch, place);
      if (skipped > 0) skipped--;
      else if (waiting.push(keep(step)) === span) emit(output);
      return true;
    },
    end(output) {
      while (!dropRemainder && waiting.length > 0) emit(output);
    },
  };
}
