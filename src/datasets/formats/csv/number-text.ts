/** Formats numbers with the fewest digits that restore their values. */

/** The maximum number of digits that an f32 requires. */
const F32_DIGITS = 9;

/** Returns a number as text. Floats of up to four bytes are formatted as f32, so 0.1 is not written as 0.10000000149011612. */
export function numberText(value: number, dtype: string): string {
  if (Object.is(value, -0)) return "-0";
  if (!Number.isFinite(value) || Number.isInteger(value) || !["f32", "f16", "bf16"].includes(dtype)) return String(value);
  for (let digits = 6; digits < F32_DIGITS; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(F32_DIGITS)));
}
