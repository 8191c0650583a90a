/** Formats tables, numbers and sizes as text for people. */

/**
 * Returns text that may come from a file or a server as one line. Escapes the characters that control a terminal as in JSON: C0, DEL, C1, and the characters
 * that reverse text or end lines.
 */
export function escapeText(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (control) => `\\u${(control.codePointAt(0) as number).toString(16).padStart(4, "0")}`);
}

/** Escapes each line of a text as `escapeText` does, and keeps the line breaks. */
export function escapeLines(text: string): string {
  return text.split("\n").map(escapeText).join("\n");
}

/** Returns rows as aligned columns. The first row is the heading. A column is aligned to the right if its cell in the second row is a number. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? number(cell) : escapeText(cell))));
  const right = (rows[1] ?? []).map((cell) => typeof cell === "number");
  const widths = (cells[0] ?? []).map((_, i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (right[i] ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join("  ")
      .trimEnd();
  return cells.map((row) => `  ${line(row)}\n`).join("");
}

/** Formats a number, such as `10,040`, `0.1234` or `-1.5e-7`. Fractions, and whole numbers of 10^15 or more, have at most five significant digits. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  const short = Number(value.toPrecision(5));
  return Math.abs(short) >= 1e-4 && Math.abs(short) < 1e15 ? short.toLocaleString("en-US", { maximumSignificantDigits: 5 }) : short.toExponential();
}

const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

export function bytes(count: number): string {
  const unit = count < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  return `${Number((count / 1000 ** unit).toPrecision(3))} ${UNITS[unit]}`;
}

/** Returns a count with its noun, such as `1 episode` or `40 episodes`. */
export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${number(count)} ${count === 1 ? singular : plural}`;
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}
