/** Which values an object column takes: those that can be saved. */
import { encodeTagged } from "../storage/index.ts";

/** @throws TypeError that names the path of what cannot be saved: functions, symbols, instances of classes, circles */
export function checkObject(value: unknown, path: string): void {
  const kind = typeof value;
  if (value === null || kind === "string" || kind === "number" || kind === "boolean" || kind === "bigint") return;
  encodeTagged(value, path);
}
