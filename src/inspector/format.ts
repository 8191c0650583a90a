/** Numbers as people read them. */

const DIGITS = 4;

/** A number in about four digits, or in full where it is whole; "–" for none. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US").replace("-", "−");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e").replaceAll("-", "−");
  return String(Number(value.toPrecision(DIGITS))).replace("-", "−");
}

/** Bytes in the unit that suits them. */
export function bytesText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const unit = Math.min(3, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const inUnit = bytes / 1024 ** unit;
  return `${numberText(unit === 0 ? inUnit : Number(inUnit.toPrecision(3)))} ${units[unit]}`;
}

/** A count with its noun: "1 item", "2 items". */
export function countText(n: number, noun: string): string {
  return `${numberText(n)} ${noun}${n === 1 ? "" : "s"}`;
}
