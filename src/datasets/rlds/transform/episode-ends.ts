/** Shortens or extends episodes, like `rlds.transformations.truncate_after_condition` and `concat_if_terminal`. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsStep } from "../../model/dataset.ts";
import { keepSpec, withSteps } from "../../model/derive.ts";
import { fillElements, flagOf } from "../../model/elements.ts";
import { applyStage, type Stage } from "../../model/maybe-async.ts";

export interface TruncateOptions {
  /**
   * The flags that are set on the step at which an episode is cut. `last` sets is_last, `terminal` sets is_last and is_terminal, and `none` sets no flag, as in
   * `rlds`. Default: `last`.
   */
  readonly mark?: "last" | "terminal" | "none";
}

const MARKS: { readonly [mark in NonNullable<TruncateOptions["mark"]>]: readonly string[] } = {
  last: ["is_last"],
  terminal: ["is_last", "is_terminal"],
  none: [],
};

/**
 * Ends each episode with the first step for which the condition holds. Later steps are not read. Episodes without such a step do not change. For a fixed
 * length, use `truncateAfter(rlds, (_, index) => index === 99)`. Works lazily, with O(1) memory.
 * @throws TypeError if an argument is invalid
 * @throws RangeError if `mark` is unknown
 */
export function truncateAfter<S = RldsStep>(
  rlds: RldsDataset<S>,
  condition: (step: S, index: number) => boolean,
  options: TruncateOptions = {},
): RldsDataset<S> {
  const { mark = "last" } = onlyKeys("options", options, "mark");
  if (typeof condition !== "function") throw mustBe(TypeError, "condition", "a function of (step, index)", condition);
  if (!Object.hasOwn(MARKS, mark)) throw mustBe(RangeError, "mark", `one of ${Object.keys(MARKS).join(", ")}`, mark, Object.keys(MARKS));
  const stage = (): Stage<S, S> => {
    let index = 0;
    return {
      push(step, output) {
        const isMatch = condition(step, index++);
        output.push(isMatch ? markStep(step, MARKS[mark]) : step);
        return !isMatch;
      },
    };
  };
  return withSteps(rlds, (steps) => applyStage(steps, stage), keepSpec);
}

/** Returns a copy of a step with flags set, or the step itself if they are already set. Each flag keeps its form. */
function markStep<S>(step: S, flags: readonly string[]): S {
  const values = step as { readonly [flag: string]: unknown };
  const missing = flags.filter((flag) => flagOf(values[flag]) !== true);
  return missing.length === 0
    ? step
    : { ...step, ...Object.fromEntries(missing.map((flag) => [flag, values[flag] === undefined ? true : fillElements(values[flag], true)])) };
}

/**
 * Appends steps, such as absorbing states, to each episode whose last step has `is_terminal` set. The function receives that last step. The existing steps do
 * not change. To move their flags, use `mapSteps`. Works lazily, with O(1) memory.
 * @throws TypeError if an argument is invalid
 */
export function concatIfTerminal<S = RldsStep>(rlds: RldsDataset<S>, makeExtraSteps: (last: S) => Iterable<S>): RldsDataset<S> {
  if (typeof makeExtraSteps !== "function") throw mustBe(TypeError, "makeExtraSteps", "a function of (last)", makeExtraSteps);
  const stage = (): Stage<S, S> => {
    let last: S | undefined;
    return {
      push(step, output) {
        last = step;
        output.push(step);
        return true;
      },
      end(output) {
        if (flagOf((last as Partial<RldsStep> | undefined)?.is_terminal)) output.push(...makeExtraSteps(last as S));
      },
    };
  };
  return withSteps(rlds, (steps) => applyStage(steps, stage), keepSpec);
}
