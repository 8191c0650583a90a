/** The numbers in a leaf's value, in whatever form it is. */

import { isList } from "../../schema/copy-numbers.ts";
import { isShaped } from "../../schema/copy-values.ts";

/** Calls `visit` with each single value until it says false. Arrays may nest, and so may objects. @returns whether it never did */
export function everyElement(value: unknown, visit: (element: unknown) => boolean): boolean {
  if (isList(value)) {
    for (let i = 0; i < value.length; i++) if (!everyElement(value[i], visit)) return false;
    return true;
  }
  if (typeof value !== "object" || value === null) return visit(value);
  const parts = isShaped(value) ? [value.data] : Object.values(value);
  return parts.every((part) => everyElement(part, visit));
}

/** How many numbers are NaN or infinite, and the first of them. */
export interface NonFinite {
  readonly count: number;
  readonly value: number;
}

/** O(elements). */
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

/** Whether there is nothing in it but 0, false, 0n and empty text, and at least one of them. */
export function isAllZero(value: unknown): boolean {
  let count = 0;
  return everyElement(value, (element) => ++count > 0 && !element && !Number.isNaN(element)) && count > 0;
}

/** A value of one element as a flag; undefined where it is none. */
export function flagOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (value === 0 || value === 0n) return false;
  if (value === 1 || value === 1n) return true;
  if (isShaped(value)) return flagOf(value.data);
  return isList(value) && value.length === 1 ? flagOf(value[0]) : undefined;
}

/** A value of one element as a number; NaN where it is none. */
export function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return Number(value);
  if (isShaped(value)) return numberOf(value.data);
  return isList(value) && value.length === 1 ? numberOf(value[0]) : Number.NaN;
}

/** The same form, each element made anew: false as false, 0n as 0n. */
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
