/** Parses and checks a spec from a file before it is used. */
import { MAX_JSONL_DEPTH } from "../../../base/file-limits.ts";
import { isDtype } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { checkLeaves } from "../leaf-count.ts";

const MAX_ELEMENTS = 2 ** 31;

/** Returns the spec in a JSON value. @throws RldsError CORRUPT if it is invalid · UNSUPPORTED if it has too many leaves */
export function specFromJson(value: unknown, file: string): StepSpec {
  const spec = specOf(value, file, 0);
  checkLeaves(spec, "the file's spec", { file });
  return spec;
}

function specOf(value: unknown, file: string, depth: number): StepSpec {
  const specError = (what: string) => corruptFile({ file }, `the file's spec ${what}`);
  if (typeof value !== "object" || value === null || depth > MAX_JSONL_DEPTH) throw specError("is not valid");
  if (Array.isArray(value)) return value.map((part) => specOf(part, file, depth + 1));
  const { dtype, shape, maxBytes } = value as { dtype?: unknown; shape?: unknown; maxBytes?: unknown };
  if (typeof dtype !== "string") return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, specOf(part, file, depth + 1)]));
  if (!isDtype(dtype) && dtype !== "string" && dtype !== "bytes") throw specError(`must have a known dtype, got ${JSON.stringify(dtype) ?? "none"}`);
  if (!Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length) && length >= 0) || sizeOf(shape) > MAX_ELEMENTS)
    throw specError(`must have a valid shape, got ${JSON.stringify(shape) ?? "none"}`);
  if (maxBytes === undefined) return { dtype: dtype as "f32", shape };
  if (dtype !== "string" || !Number.isSafeInteger(maxBytes) || (maxBytes as number) < 1)
    throw specError(`must have a valid maxBytes, got ${JSON.stringify(maxBytes) ?? "none"}`);
  return { dtype, shape, maxBytes: maxBytes as number };
}
