/** Defines the metadata of a dataset, which Reprise stores as JSON in all formats. */
import { mustBe } from "../../base/error.ts";

/** The metadata of a dataset, as a JSON object. */
export type About = { readonly [key: string]: unknown };

/** Returns the metadata as JSON. @throws TypeError if the value is not an object */
export function mustBeAbout(about: unknown): About {
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw mustBe(TypeError, "about", "a JSON object", about);
  return jsonOf(about) as About;
}

/** Converts a value to JSON. Typed arrays become lists, and integers beyond 2^53 become decimal strings. Values that JSON cannot represent are left out. */
function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") return value > -(2n ** 53n) && value < 2n ** 53n ? Number(value) : String(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as unknown as ArrayLike<unknown>, jsonOf);
  if (Array.isArray(value)) return value.map((part) => jsonOf(part) ?? null);
  if (typeof value !== "object" || value === null) return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  const entries = Object.entries(value).map(([name, part]) => [name, jsonOf(part)] as const);
  return Object.fromEntries(entries.filter(([, part]) => part !== undefined));
}

/** Returns the metadata under `about` in a file that Reprise wrote. The file may also contain metadata of its format. */
export function nestedAbout(value: unknown): About {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as About) : {};
}
