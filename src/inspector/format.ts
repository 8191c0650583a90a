/** Formats numbers for people. */

const DIGITS = 4;

/** Formats a number with about four digits, or in full if it is whole. Returns "–" for NaN. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US").replace("-", "−");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e").replaceAll("-", "−");
  return String(Number(value.toPrecision(DIGITS))).replace("-", "−");
}

/** Formats bytes in a suitable unit. */
export function bytesText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const unit = Math.min(3, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const inUnit = bytes / 1024 ** unit;
  return `${numberText(unit === 0 ? inUnit : Number(inUnit.toPrecision(3)))} ${units[unit]}`;
}

/** Formats a count with its noun: "1 item", "2 items". */
export function countText(n: number, noun: string): string {
  return `${numberText(n)} ${noun}${n === 1 ? "" : "s"}`;
}
