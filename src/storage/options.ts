/** What a journal can be told. */
import { internals } from "../index.ts";

/**
 * When what a call changed is on the disk:
 * "always": when the call returns · { everyMs }: so much later at most · "manual": when `flush` resolves
 */
export type Durability = "always" | "manual" | { readonly everyMs: number };

/** What evicted steps come to: their space is given back, or everything is kept. */
export type Retain = "capacity" | "all";

/** Told what was loaded, trimmed and repaired; `console` is one. */
export interface Logger {
  info(message: string): void;
  warn(message: string): void;
}

const { finite, mustBe, onlyKeys } = internals;

export function durabilityOf(value: Durability = { everyMs: 1000 }): Durability {
  if (value === "always" || value === "manual") return value;
  if (typeof value !== "object") throw mustBe(TypeError, "durability", '"always", "manual" or { everyMs }', value);
  finite("durability.everyMs", onlyKeys("durability", value, "everyMs").everyMs, 1, 0x7fffffff);
  return value;
}

export function retainOf(value: Retain): Retain {
  if (value !== "capacity" && value !== "all") throw mustBe(typeof value === "string" ? RangeError : TypeError, "retain", '"capacity" or "all"', value);
  return value;
}
