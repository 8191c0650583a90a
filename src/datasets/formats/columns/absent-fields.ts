/** Supplies the rewards and discounts that a file lacks. Rewards are 0. Discounts are 1, or 0 at the end of an episode or where the environment terminated. */
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import type { FinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { STEP_FIELDS } from "../../model/step-fields.ts";
import { Column } from "./column.ts";

/** The leaf of a missing reward or discount. */
export const ABSENT: StepLeaf = { dtype: "f32", shape: [] };
const ABSENT_FIELDS: readonly string[] = ["reward", "discount"];

/** Returns a column with a reward of 0 per row. */
export function absentReward(rows: number): Column {
  return new Column({ path: "reward", leaf: ABSENT, rows, rowBytes: 4, read: async (from, to) => new Float32Array(to - from) });
}

/**
 * Returns the discounts of RLDS steps. The discount is 0 in a step with `is_last` or `is_terminal`, and in the step before a terminal step, because its action
 * led to that step. It is 1 in all other steps.
 */
export function discountsOf(isLast: ArrayLike<number>, isTerminal: ArrayLike<number>): Float32Array<ArrayBuffer> {
  const { length } = isTerminal;
  return Float32Array.from({ length }, (_, i) => (isLast[i] === 1 || isTerminal[i] === 1 || (i + 1 < length && isTerminal[i + 1] === 1) ? 0 : 1));
}

/**
 * Returns a spec with the leaves of the reward and the discount added if they are missing. If the spec lacks any other field of RLDS steps, returns it
 * unchanged.
 */
export function withAbsentFields(spec: StepSpec): StepSpec {
  const missing = STEP_FIELDS.filter((field) => !Object.hasOwn(spec, field));
  if (!missing.every((field) => ABSENT_FIELDS.includes(field))) return spec;
  return missing.length === 0 ? spec : { ...Object.fromEntries(missing.map((field) => [field, ABSENT])), ...(spec as { readonly [name: string]: StepSpec }) };
}

/**
 * Returns the steps with the reward and the discount added if they are missing.
 * @param spec the spec of the result, from `withAbsentFields`
 * @param finalStep the kind of the last step
 */
export function stepsWithAbsentFields<S>(steps: StepColumns<S>, spec: StepSpec, finalStep: FinalStep | "unknown" | undefined): StepColumns<S> {
  if (spec === steps.spec) return steps;
  const columns = new Map(leavesOf(steps.spec).map(({ path }, i) => [path, steps.parts[i] as ColumnData]));
  const flags = (name: string) => (columns.get(name) ?? new Uint8Array(steps.length)) as Uint8Array;
  const absent: { readonly [path: string]: () => ColumnData } = {
    reward: () => new Float32Array(steps.length),
    discount: () =>
      finalStep === "transition" ? Float32Array.from(flags("is_terminal"), (is) => 1 - is) : discountsOf(flags("is_last"), flags("is_terminal")),
  };
  const data = leavesOf(spec).map(({ path }) => columns.get(path) ?? (absent[path] as () => ColumnData)());
  return new StepColumns<S>(spec, data, steps.length);
}
