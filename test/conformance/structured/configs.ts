/** Converts patterns, conditions and configs of a case. */

import type { Spec } from "../../../src/index.ts";
import {
  type Comparable,
  Condition,
  type Config,
  constantPriorityFn,
  createConfig,
  createReferenceStep,
  type Pattern,
  patternFromTransform,
  type ReferenceField,
  tdError,
} from "../../../src/tf-agents/index.ts";
import type { TwinCondition, TwinConfig, TwinNode } from "../../support/structured-twin.ts";
import { isObject, Malformed } from "../case.ts";

const METHODS = { "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge" } as const;

/** Creates a config with our API. Throws if the config is invalid. */
export function configOf(theirs: unknown, spec: Spec): Config {
  const { pattern, table, conditions = [], priority } = theirs as TwinConfig;
  const made = patternFromTransform(spec, (step) => nested(pattern, step));
  const options = priority === undefined || priority === null ? {} : { priority: priorityOf(priority, spec) };
  return createConfig(made, table, { conditions: conditions.map((condition) => conditionOf(condition, spec)), ...options });
}

/** Creates a pattern without a config. @param by the recorded name of the function that creates the pattern */
export function patternOf(theirs: unknown, spec: Spec, by: unknown): Pattern {
  return by === "create_reference_step" ? nested(theirs, createReferenceStep(spec)) : patternFromTransform(spec, (step) => nested(theirs, step));
}

function nested(theirs: unknown, step: unknown): Pattern {
  if (Array.isArray(theirs)) return theirs.map((part) => nested(part, step));
  // An invalid pattern is passed on unchanged, because our API must reject it.
  if (!isObject(theirs)) return theirs as Pattern;
  if (!("field" in theirs)) return Object.fromEntries(Object.entries(theirs).map(([name, part]) => [name, nested(part, step)]));
  const { field, at, slice } = theirs as unknown as TwinNode;
  const found = walk<ReferenceField>(step, field);
  return slice === undefined ? found.at(at as number) : found.slice(...(slice as [number | null]));
}

function conditionOf({ of, field, mod, op, value }: TwinCondition, spec: Spec): Condition {
  if (of === "is_end_episode") return Condition.isEndEpisode();
  const whole = of === "step_index" ? Condition.stepIndex() : of === "steps_since_applied" ? Condition.stepsSinceApplied() : undefined;
  const left = whole ?? walk<Comparable>(Condition.data(spec), field as string);
  const compared = mod === undefined ? left : left.mod(mod);
  return op === undefined ? (compared as never) : compared[METHODS[op]](value as number);
}

function priorityOf(priority: NonNullable<TwinConfig["priority"]>, spec: Spec) {
  if (!isObject(priority)) return constantPriorityFn(priority as number);
  const { td_error: weight, field } = priority as Exclude<TwinConfig["priority"], number | undefined>;
  return tdError(weight, spec, (step) => walk<ReferenceField>(step, field));
}

function walk<T>(nest: unknown, path: string | readonly string[]): T {
  const found = [path].flat().reduce<unknown>((node, key) => (node as { readonly [key: string]: unknown } | undefined)?.[key], nest);
  if (found === undefined) throw new Malformed(`the step has no ${[path].flat().join(".")}`);
  return found as T;
}
