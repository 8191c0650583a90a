/** Converts client results to the format of the cases. */

import type { Column, ColumnLike } from "../../../src/index.ts";
import { DTYPES, type Dtype, dtypeOf } from "../../../src/schema/dtype.ts";
import type { ReplaySample, SampleInfo, Signature, TableInfo } from "../../../src/tf-agents/index.ts";
import { NUMPY } from "../../support/numpy-dtypes.ts";
import { isObject, type Result } from "../case.ts";
import { nestedColumn } from "../nested.ts";

/** Returns NumPy's name of a dtype. Arrays of flags have the name of u8. */
export function nameOfDtype(dtype: string): string {
  return (NUMPY as { readonly [dtype: string]: string })[dtype] ?? dtype;
}

export function dtypeName({ data }: ColumnLike): string {
  return nameOfDtype(dtypeOf(data) ?? "string");
}

/** Applies `each` to the columns of a nest. */
export function mapData(node: unknown, each: (column: Column) => unknown): unknown {
  const { data, shape } = (node ?? {}) as Partial<Column>;
  if (ArrayBuffer.isView(data) && Array.isArray(shape)) return each(node as Column);
  if (Array.isArray(node)) return node.map((part) => mapData(part, each));
  return Object.fromEntries(Object.entries(node as object).map(([name, part]) => [name, mapData(part, each)]));
}

export function plainData(data: unknown): unknown {
  return mapData(data, nestedColumn);
}

export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns an info with the number of its item, in order of first occurrence, instead of the key. */
export function plainInfo({ key, ...rest }: SampleInfo, seen: Map<unknown, number>): Result {
  if (!seen.has(key)) seen.set(key, seen.size);
  return { item: seen.get(key), ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [snake(name), value])) };
}

export function plainSample({ info, data }: ReplaySample, seen: Map<unknown, number>): Result {
  return { info: plainInfo(info, seen), data: plainData(data), dtypes: mapData(data, dtypeName) };
}

export function plainSignature(signature: Signature | undefined): unknown {
  if (signature === undefined) return null;
  const { dtype, shape } = signature as { readonly dtype?: Dtype; readonly shape?: readonly (number | null)[] };
  if (typeof dtype === "string" && Object.hasOwn(DTYPES, dtype)) return { shape, dtype: nameOfDtype(dtype === "bool" ? "u8" : dtype) };
  if (Array.isArray(signature)) return signature.map(plainSignature);
  return Object.fromEntries(Object.entries(signature).map(([name, part]) => [name, plainSignature(part as Signature)]));
}

/** Returns a table's info without protocol text. */
export function plainTableInfo(info: TableInfo): Result {
  const { insertStats, sampleStats, ...limiter } = info.rateLimiterInfo;
  const numbers = Object.fromEntries(Object.entries(limiter).map(([name, value]) => [snake(name), value]));
  return {
    name: info.name,
    max_size: info.maxSize,
    max_times_sampled: info.maxTimesSampled,
    current_size: info.currentSize,
    num_episodes: info.numEpisodes,
    num_deleted_episodes: info.numDeletedEpisodes,
    num_unique_samples: info.numUniqueSamples,
    rate_limiter: { ...numbers, inserts_completed: insertStats.completed, samples_completed: sampleStats.completed },
  };
}

/** Returns the parts of a table's definition that are compared. */
export function plainDefinition(info: TableInfo): Result {
  const { name, max_size, max_times_sampled, rate_limiter } = plainTableInfo(info) as { readonly [name: string]: Result };
  const { samples_per_insert, min_size_to_sample, min_diff, max_diff } = rate_limiter as Result;
  return { name, max_size, max_times_sampled, samples_per_insert, min_size_to_sample, min_diff, max_diff };
}

/** Converts expected answers to values that our arrays can hold: flags as bytes, no protocol text. */
export function comparable(expected: unknown, key = ""): unknown {
  if (key === "dtypes" || key === "dtype") return JSON.parse(JSON.stringify(expected).replaceAll('"bool"', '"uint8"'));
  if (Array.isArray(expected)) return expected.map((part) => comparable(part));
  if (!isObject(expected)) return expected;
  const entries = Object.entries(expected).filter(
    ([name]) => !(("current_size" in expected || "num_episodes" in expected) && (name === "sampler" || name === "remover")),
  );
  return Object.fromEntries(entries.map(([name, part]) => [name, comparable(part, name)]));
}
