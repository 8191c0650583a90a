/** Formats numbers for people. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Formats a whole number: 1234567 → "1,234,567". */
export const count = (value: number): string => whole.format(value);

/** Formats a count: 1 → "1 step", 2000 → "2,000 steps". */
export const counted = (value: number, name: string): string => `${count(value)} ${name}${value === 1 ? "" : "s"}`;

/** Formats a number with three significant digits: 0.01234 → "0.0123". */
export const figure = (value: number): string => (Number.isFinite(value) ? three.format(value) : String(value));

/** Formats bytes: 1536 → "1.5 KiB". */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(units.length - 1, value < 1024 ? 0 : Math.floor(Math.log2(value) / 10));
  return `${three.format(value / 1024 ** unit)} ${units[unit]}`;
}
