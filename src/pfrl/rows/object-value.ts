/** What an object column holds: copies of values that can be saved. */
import { decodeTagged, encodeTagged } from "../../store/index.ts";

/** A copy, as a file would give it back. @throws TypeError that names the path of what cannot be saved: functions, symbols, instances of classes, circles */
export function copyObject(value: unknown, path = "a value"): unknown {
  const kind = typeof value;
  if (value === null || kind === "string" || kind === "number" || kind === "boolean" || kind === "bigint") return value;
  return decodeTagged(encodeTagged(value, path));
}
