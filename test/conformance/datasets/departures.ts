/** Defines the differences between our answers and the recorded ones in RLDS cases (POLICY.md, departures.md), as rules, which also apply to new cases. */
import type { RldsStep } from "../../../src/datasets/rlds/index.ts";
import { isObject, type Result } from "../case.ts";
import type { PushArgs, RldsCase } from "./cases.ts";
import { isLeafOfCase, nests, ofEachStep, POLICY_INFO, sourcesOf } from "./fields.ts";

export interface RldsDeparture {
  readonly rule: string;
  /** Returns the expected answer of an op. This is the recorded answer if the rule does not apply to the op. */
  result(op: RldsCase["ops"][number], recorded: Result): Result;
}

const CHECKED = "every argument is checked at construction";
const NONE = "no steps at all raises, as the document says";
const BEGINS = "data that begins in mid-episode raises";
const ENDS = "an episode that does not end in a last step raises, also where the next one begins with a first step";
const NESTED = "nested observations are split per step like flat ones";
const TYPING = "an accident of TensorFlow's typing: a flag or a discount of another dtype is converted";
const ONE = "a discount is one number";

/** Returns the departures of a case, in the order in which they are applied. Each receives the result of the previous one. */
export function rldsDepartures(test: RldsCase): RldsDeparture[] {
  const checked: RldsDeparture = {
    rule: CHECKED,
    result: ([kind, args], recorded) => (kind === "push" ? checkedArguments(args as PushArgs, recorded) : recorded),
  };
  if (test.raw !== undefined) return [checked];
  const steps = test.episodes.flatMap((episode, number) => episode.map((step) => ({ number, step: step as RldsStep })));
  if (steps.length === 0)
    return [{ rule: NONE, result: ([kind], recorded) => (kind === "spec" || recorded.error ? recorded : refused(kind, "EMPTY", recorded, 0)) }];
  return [...ofTypes(test, steps), ...ofNests(test), ...ofOrder(steps), checked];
}

interface Numbered {
  readonly number: number;
  readonly step: RldsStep;
}

const flag = (value: unknown) => [value].flat()[0] === true || [value].flat()[0] === 1;

function ofOrder(steps: readonly Numbered[]): RldsDeparture[] {
  const wrong = firstWrong(steps);
  if (wrong === undefined) return [];
  const { at, rule } = wrong;
  return [{ rule, result: ([kind], recorded) => (kind === "spec" || known(recorded) <= at ? recorded : refused(kind, "INVALID_DATA", recorded, at)) }];
}

/** Finds the first fault in the order of steps. Returns the number of trajectories before the fault, and the rule that it breaks. */
function firstWrong(steps: readonly Numbered[]): { readonly at: number; readonly rule: string } | undefined {
  if (!flag(steps[0]?.step.is_first)) return { at: 0, rule: BEGINS };
  const at = steps.findIndex(({ number, step }, i) => {
    const next = steps[i + 1];
    return !flag(step.is_last) && (next === undefined || flag(next.step.is_first) || next.number !== number);
  });
  return at < 0 ? undefined : { at, rule: ENDS };
}

/** Returns the number of trajectories after which the recorded call raised. */
function known({ error, trajectories, observer_calls }: Result): number {
  if (!isObject(error)) return Number.POSITIVE_INFINITY;
  return Array.isArray(trajectories) ? trajectories.length : ((observer_calls as number | undefined) ?? 0);
}

/** Returns the expected answer of a call that fails with `code` after `at` trajectories. For a push, only the items that both sides wrote are compared. */
function refused(kind: string, code: string, recorded: Result, at: number): Result {
  const error = { kind: code };
  if (kind === "convert") return { trajectories: (recorded.trajectories as unknown[]).slice(0, at), error };
  return { error, observer_calls: at, items: recorded.items, some: true };
}

/** Returns the departures for nested fields. The recorded value of such a field contains both steps of a pair, and the expected value contains only one. */
function ofNests(test: RldsCase): RldsDeparture[] {
  const sources = sourcesOf(test.spec, test.policy_info_fn);
  if (!nests(sources)) return [];
  const result: RldsDeparture["result"] = (_, recorded) => {
    const { trajectories, items } = recorded as { readonly trajectories?: unknown[]; readonly items?: { readonly columns: unknown }[] };
    return {
      ...recorded,
      ...(trajectories && { trajectories: trajectories.map((each) => ofEachStep(sources, each, false)) }),
      ...(items && { items: items.map((item) => ({ ...item, columns: ofEachStep(sources, item.columns, true) })) }),
    };
  };
  return [{ rule: NESTED, result }];
}

/** Returns the departures for values that TensorFlow's types reject or pass through: a discount that is not float32, or flags that are not single booleans. */
function ofTypes(test: RldsCase, steps: readonly Numbered[]): RldsDeparture[] {
  const spec = test.spec as { readonly [field: string]: unknown };
  const is = (field: string, dtype: string) => spec[field] === undefined || typed(spec[field], dtype);
  if (is("discount", "float32") && ["is_first", "is_last", "is_terminal"].every((field) => is(field, "bool"))) return [];
  const { discount } = spec;
  if (isLeafOfCase(discount) && discount.shape.some((n) => n !== 1))
    return [{ rule: ONE, result: ([kind], recorded) => (kind === "spec" ? recorded : refused(kind, "SPEC_MISMATCH", { trajectories: [], items: [] }, 0)) }];
  const trajectories = trajectoriesOf(test, steps);
  const { length } = trajectories;
  const result: RldsDeparture["result"] = ([kind], recorded) => {
    if (kind === "spec" || (known(recorded) === 0 && (recorded.error as Result).type === "KeyError")) return recorded;
    return kind === "convert" ? { trajectories } : { pushed: length, observer_calls: length };
  };
  return [{ rule: TYPING, result }];
}

const typed = (leaf: unknown, dtype: string) => isLeafOfCase(leaf) && leaf.dtype === dtype && leaf.shape.length === 0;

/** Converts steps in a valid order to trajectories, according to the documentation of the recorded function. */
function trajectoriesOf({ spec, policy_info_fn }: RldsCase, steps: readonly Numbered[]): unknown[] {
  const typeOf = ({ is_first, is_last }: RldsStep) => (flag(is_first) ? 0 : flag(is_last) ? 2 : 1);
  const policyInfo = POLICY_INFO[policy_info_fn ?? ""];
  const end = { ...(zerosOf(spec) as RldsStep), is_first: true };
  return steps.map(({ step }, i) => {
    const next = steps[i + 1]?.step ?? end;
    const { observation, action, reward, discount } = step;
    const isSingle = flag(step.is_first) && flag(step.is_last);
    return {
      ...{ step_type: isSingle ? 2 : typeOf(step), next_step_type: isSingle ? 2 : typeOf(next) },
      ...{ observation, action, reward, discount: flag(step.is_terminal) ? 0 : [discount].flat()[0] },
      policy_info: policyInfo === undefined ? [] : policyInfo(step, next),
    };
  });
}

function zerosOf(spec: unknown): unknown {
  if (!isLeafOfCase(spec)) return Object.fromEntries(Object.entries(spec as object).map(([name, node]) => [name, zerosOf(node)]));
  return spec.shape.reduceRight<unknown>((part, n) => new Array(n).fill(part), 0);
}

/**
 * Returns the error that our constructor throws if an argument is invalid, or else the recorded result. The recorded code detects some invalid arguments only
 * when it receives a step, or never.
 */
function checkedArguments(args: PushArgs, recorded: Result): Result {
  if (recorded.error !== undefined && recorded.observer_calls === undefined) return recorded;
  const { priority = 1 } = args;
  const counts = [args.sequence_length, args.stride_length, args.max_sequence_length].filter((count) => count !== undefined);
  if (typeof priority !== "number" || counts.some((count) => !Number.isInteger(count))) return { error: { kind: "TypeError" } };
  return priority < 0 || counts.some((count) => (count as number) < 1) ? { error: { kind: "RangeError" } } : recorded;
}

/** The names of the cases in tfagents/rlds.json in which a rule changes an answer. */
export const RLDS = ["nested_observation", "bad_first_only", "bad_first_first", "bad_begin_of_data", "empty"] as const;
