/** Converts changes by key to lists. All values are checked before anything changes. */
import { finite, mustBe, onlyKeys } from "../../base/error.ts";
import { type ColumnLike, dataOf, isColumn } from "../../schema/column.ts";
import { checkKeyArray, elementsIn, isKey, isList, keyError } from "../../schema/copy-numbers.ts";
import type { ItemKey } from "../sampling/sample.ts";
import type { PriorityChanges } from "./client.ts";

export interface KeyChanges {
  readonly keys: readonly ItemKey[];
  /** One priority per key. */
  readonly priorities: readonly number[];
  /** Keys of items to delete. */
  readonly deletes: readonly ItemKey[];
}

const PAIRS_RULE = "a Map, or pairs [key, priority]";

/** Keys of this process are numbers, and keys of a server are bigints. */
const RULE = "whole numbers from 0 to 2^53 - 1, or bigints below 2^64, as samples return them";

/** Returns the changes by key, after checking them. @throws TypeError, RangeError if a key or a priority is invalid */
export function keyChangesOf(changes: PriorityChanges): KeyChanges {
  const { updates = [], deletes = [] } = onlyKeys("changes", changes, "updates, deletes");
  if (isColumn(updates)) throw mustBe(TypeError, "updates", PAIRS_RULE, updates);
  const pairs = listOf("updates", updates, PAIRS_RULE);
  for (const pair of pairs) if (!Array.isArray(pair) || pair.length !== 2) throw mustBe(TypeError, "updates", PAIRS_RULE, pair);
  const listed = pairs.map(([key]) => key);
  const keys = mustBeKeys("updates", listed);
  const priorities = pairs.map(([key, priority]) => finite(`the priority of key ${String(key)}`, priority, 0));
  return { keys, priorities, deletes: keyList("deletes", deletes) };
}

/**
 * Returns the keys in an array or another iterable.
 * @throws TypeError if the array's type cannot represent every key exactly, or if the array contains values that are not keys · RangeError for a number that
 * cannot be a key
 */
export function keyList(subject: string, keys: Iterable<ItemKey> | ArrayLike<ItemKey> | ColumnLike<"f64" | "u64">): readonly ItemKey[] {
  const values = dataOf<Iterable<ItemKey> | ArrayLike<ItemKey>>(subject, keys);
  checkKeyArray(subject, values, "BigUint64Array");
  return mustBeKeys(subject, isList(values) ? elementsIn(values as ArrayLike<ItemKey>) : listOf(subject, values as Iterable<ItemKey>));
}

function mustBeKeys(subject: string, keys: readonly ItemKey[]): readonly ItemKey[] {
  for (const key of keys) if (typeof key !== "number" && typeof key !== "bigint") throw mustBe(TypeError, `a key of ${subject}`, "a number or a bigint", key);
  if (!keys.every(isKey)) throw keyError(subject, keys, RULE);
  return keys;
}

function listOf<T>(subject: string, values: Iterable<T>, rule = "a list"): T[] {
  if (typeof values !== "object" || values === null || typeof values[Symbol.iterator] !== "function") throw mustBe(TypeError, subject, rule, values);
  return [...values];
}
