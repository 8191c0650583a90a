/** Determines from which step of a pair each field of a trajectory comes. */
import type { PolicyInfoFn, RldsStep } from "../../../src/datasets/rlds/index.ts";
import { isObject } from "../case.ts";

export const POLICY_INFO: { readonly [name: string]: PolicyInfoFn } = {
  action: (step) => ({ action: step.action }),
  // biome-ignore lint/suspicious/noThenProperty: the case names it so, and it is a number
  both_rewards: (step, next) => ({ now: step.reward, then: next.reward }),
  next_action: (_, next) => next.action,
  metadata: (step) => ({ m: step.extra }),
  missing: (step) => step.nowhere,
};

export interface LeafOfCase {
  readonly dtype: string;
  readonly shape: readonly number[];
}

export const isLeafOfCase = (spec: unknown): spec is LeafOfCase => isObject(spec) && typeof spec.dtype === "string";

/** A placeholder for a field of the first (`at` 0) or second (`at` 1) step of a pair. */
class Source {
  readonly spec: unknown;
  readonly at: 0 | 1;

  constructor(spec: unknown, at: 0 | 1) {
    this.spec = spec;
    this.at = at;
  }
}

/** Returns the fields of a trajectory as nests of `Source`. To find the sources of `policy_info`, calls the `policy_info_fn` with placeholders. */
export function sourcesOf(spec: unknown, policyInfo: string | undefined): { readonly [field: string]: unknown } {
  const stepAt = (at: 0 | 1) => Object.fromEntries(Object.entries(spec as object).map(([field, node]) => [field, new Source(node, at)])) as unknown as RldsStep;
  const step = stepAt(0);
  const { observation, action, reward } = step;
  return { observation, action, reward, policy_info: POLICY_INFO[policyInfo ?? ""]?.(step, stepAt(1)) };
}

/** Returns whether the sources include a nested field. */
export function nests(source: unknown): boolean {
  if (source instanceof Source) return !isLeafOfCase(source.spec);
  return isObject(source) && Object.values(source).some(nests);
}

/**
 * Picks one step from each nested field, whose recorded value contains both steps of the pair.
 * @param inTime whether the value is a column with a time dimension
 */
export function ofEachStep(source: unknown, value: unknown, inTime: boolean): unknown {
  if (source instanceof Source) return isLeafOfCase(source.spec) ? value : ofPair(source.spec, value, source.at, inTime);
  if (!isObject(source) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, node]) => [name, ofEachStep(source[name], node, inTime)]));
}

function ofPair(spec: unknown, value: unknown, at: 0 | 1, inTime: boolean): unknown {
  if (isLeafOfCase(spec)) return inTime ? (value as unknown[][]).map((pair) => pair[at]) : (value as unknown[])[at];
  return Object.fromEntries(
    Object.entries(value as object).map(([name, node]) => [name, ofPair((spec as { readonly [name: string]: unknown })[name], node, at, inTime)]),
  );
}
