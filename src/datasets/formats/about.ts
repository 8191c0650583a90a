/** Defines the metadata of a dataset, which Reprise stores as JSON in all formats that have room for it. */
import { mustBe } from "../../base/error.ts";

/** The metadata of a dataset, as a JSON object. */
export type About = { readonly [key: string]: unknown };

/** Returns the metadata as plain JSON values. @throws TypeError if the metadata is not an object */
export function mustBeAbout(about: unknown): About {
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw mustBe(TypeError, "about", "a JSON object", about);
  return jsonOf(about) as About;
}

/**
 * Converts a value to plain JSON values. Typed arrays become lists, and bigints become numbers, or decimal strings from 2^53 on. NaN and infinities become
 * strings. Functions, symbols and undefined are left out of objects, and become null in lists.
 */
function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") return value > -(2n ** 53n) && value < 2n ** 53n ? Number(value) : String(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as unknown as ArrayLike<unknown>, jsonOf);
  if (Array.isArray(value)) return value.map((part) => jsonOf(part) ?? null);
  if (typeof value !== "object" || value === null) return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  const entries = Object.entries(value).map(([name, part]) => [name, jsonOf(part)] as const);
  return Object.fromEntries(entries.filter(([, part]) => part !== undefined));
}

/**
 * Returns the metadata that Reprise stored under `about` in a file, apart from the metadata of the format itself. Returns an empty object if the value is not
 * an object.
 */
export function nestedAbout(value: unknown): About {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as About) : {};
}
