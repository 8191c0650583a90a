/** Inspects the elements of a leaf's value, whether it is a single value, an array or a nest. */

import { isList } from "../../schema/copy-numbers.ts";
import { isShaped } from "../../schema/copy-values.ts";

/** Calls `visit` with each single value, including values in nested arrays and objects, until it returns false. @returns whether every call returned true */
export function everyElement(value: unknown, visit: (element: unknown) => boolean): boolean {
  if (isList(value)) {
    for (let i = 0; i < value.length; i++) if (!everyElement(value[i], visit)) return false;
    return true;
  }
  if (typeof value !== "object" || value === null) return visit(value);
  const parts = isShaped(value) ? [value.data] : Object.values(value);
  return parts.every((part) => everyElement(part, visit));
}

/** The number of elements that are NaN or infinite. `value` is the first of these elements. */
export interface NonFinite {
  readonly count: number;
  readonly value: number;
}

/** Counts the elements that are NaN or infinite. Returns undefined if there are none. O(elements) */
export function nonFiniteIn(value: unknown): NonFinite | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : { count: 1, value };
  let count = 0;
  let first = 0;
  if (value instanceof Float32Array || value instanceof Float64Array) {
    for (let i = 0; i < value.length; i++) if (!Number.isFinite(value[i])) first = count++ === 0 ? (value[i] as number) : first;
  } else {
    everyElement(value, (element) => {
      if (typeof element === "number" && !Number.isFinite(element)) first = count++ === 0 ? element : first;
      return true;
    });
  }
  return count === 0 ? undefined : { count, value: first };
}

/** Returns whether a value has at least one element and all its elements are 0, false, 0n or empty text. */
export function isAllZero(value: unknown): boolean {
  let count = 0;
  return everyElement(value, (element) => ++count > 0 && !element && !Number.isNaN(element)) && count > 0;
}

/** Returns a single-element value as a flag, or undefined if it is not a flag. */
export function flagOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (value === 0 || value === 0n) return false;
  if (value === 1 || value === 1n) return true;
  if (isShaped(value)) return flagOf(value.data);
  return isList(value) && value.length === 1 ? flagOf(value[0]) : undefined;
}

/** Returns a single-element value as a number, or NaN if it is not a number. */
export function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return Number(value);
  if (isShaped(value)) return numberOf(value.data);
  return isList(value) && value.length === 1 ? numberOf(value[0]) : Number.NaN;
}

/**
 * Returns a value with the same structure in which every element is one if `isOne` is true, and zero otherwise. The elements keep their types, such as 0, 0n or
 * false. Text always becomes empty.
 */
export function fillElements(value: unknown, isOne: boolean): unknown {
  if (typeof value === "boolean") return isOne;
  if (typeof value === "bigint") return isOne ? 1n : 0n;
  if (typeof value === "number") return Number(isOne);
  if (typeof value === "string") return "";
  if (Array.isArray(value)) return value.map((part) => fillElements(part, isOne));
  if (isList(value)) return (value as Float32Array).slice().fill((typeof value[0] === "bigint" ? BigInt(isOne) : Number(isOne)) as number);
  if (isShaped(value)) return { ...value, data: fillElements(value.data, isOne) };
  return Object.fromEntries(Object.entries(value ?? {}).map(([key, part]) => [key, fillElements(part, isOne)]));
}
