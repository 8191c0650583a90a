/** Values as JSON. Bigints become numbers if these are exact, else strings. Numbers that are not finite become strings, typed arrays become arrays. */

export function json(value: unknown): string {
  return JSON.stringify(value, plain);
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return [...(value as Float64Array)];
  return value;
}
