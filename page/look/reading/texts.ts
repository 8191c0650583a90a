/** Formats metadata of files as texts for the page. */

/** Longer texts are cut. */
const LONGEST = 4000;

export type NamedText = readonly [name: string, text: string];

export function namedTexts(object: { readonly [name: string]: unknown }): NamedText[] {
  return Object.entries(object).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, textOf(value)] as const]));
}

export function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, plain) ?? String(value));
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}

/** Converts values that JSON cannot represent. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value as unknown as ArrayLike<unknown>) : value;
}
