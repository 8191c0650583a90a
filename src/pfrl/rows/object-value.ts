/** Copies values of object columns, and checks that a file can store the values. */
import { decodeTagged, encodeTagged } from "../../storage/index.ts";

/** Returns a copy of a value that `copyObject` returned. */
export function cloneObject(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneObject);
  if (ArrayBuffer.isView(value)) return (value as Uint8Array).slice();
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (value instanceof Date) return new Date(value);
  if (value instanceof Map) return new Map(Array.from(value, ([key, entry]) => [cloneObject(key), cloneObject(entry)] as const));
  if (value instanceof Set) return new Set(Array.from(value, cloneObject));
  const copy: { [name: string]: unknown } = {};
  for (const [name, entry] of Object.entries(value)) {
    const clone = cloneObject(entry);
    // An assignment to `__proto__` would set the prototype.
    if (name === "__proto__") Object.defineProperty(copy, name, { value: clone, writable: true, enumerable: true, configurable: true });
    else copy[name] = clone;
  }
  return copy;
}

/**
 * Returns a copy in the form that a file restores.
 * @throws TypeError with the path of a value that cannot be saved: functions, symbols, instances of classes, circular references
 */
export function copyObject(value: unknown, path = "a value"): unknown {
  const kind = typeof value;
  if (value === null || kind === "string" || kind === "number" || kind === "boolean" || kind === "bigint") return value;
  return decodeTagged(encodeTagged(value, path));
}
