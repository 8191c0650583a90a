/** Values as JSON: whole numbers of 64 bits as numbers where these are exact, else as text; numbers that are not finite as text; arrays of any kind as arrays. */

export function json(value: unknown): string {
  return JSON.stringify(value, plain);
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return [...(value as Float64Array)];
  return value;
}
