/** Infers the spec of a JSON value. JSON does not state the dtype of a number, so every number is f32 here. */
import { MAX_JSONL_DEPTH } from "../../../base/file-limits.ts";
import type { StepSpec } from "../../model/dataset.ts";

/** Matches the strings that replace the numbers that `JSON.stringify` cannot write. */
export const NUMBER_WORD = /^(NaN|-?Infinity|-0)$/;

/**
 * Infers a spec. Numbers are f32, and a list is a tuple unless all its elements have the same dtype and shape. Returns undefined if the value is or contains
 * null, or if it is nested too deeply.
 */
export function inferSpec(value: unknown, depth = 0): StepSpec | undefined {
  if (depth > MAX_JSONL_DEPTH || value === null || value === undefined) return undefined;
  if (typeof value === "number" || typeof value === "bigint" || (typeof value === "string" && NUMBER_WORD.test(value))) return { dtype: "f32", shape: [] };
  if (typeof value === "boolean") return { dtype: "bool", shape: [] };
  if (typeof value === "string") return { dtype: "string", shape: [] };
  const parts = Object.entries(value as object).map(([name, part]): [string, StepSpec | undefined] => [name, inferSpec(part, depth + 1)]);
  if (parts.some(([, spec]) => spec === undefined)) return undefined;
  if (!Array.isArray(value)) return Object.fromEntries(parts as [string, StepSpec][]);
  if (parts.length === 0) return { dtype: "f32", shape: [0] };
  const [first] = parts as [[string, StepSpec]];
  const { dtype, shape } = first[1] as { dtype?: unknown; shape: readonly number[] };
  const text = JSON.stringify(first[1]);
  const areEqual = typeof dtype === "string" && parts.every(([, spec]) => JSON.stringify(spec) === text);
  return areEqual ? { dtype: dtype as "f32", shape: [parts.length, ...shape] } : parts.map(([, spec]) => spec as StepSpec);
}
