/** Stores text in rows: the length in bytes (u32), the UTF-8 bytes, and zeros up to the limit. Equal texts have equal bytes. */

const HEAD_BYTES = 4;
/** A lone surrogate, which UTF-8 cannot represent. */
const LONE = /\p{Surrogate}/u;
const encoder = new TextEncoder();
// A byte order mark is part of the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the number of bytes of one text in a row: a multiple of 4. */
export function textBytes(maxBytes: number): number {
  return (HEAD_BYTES + maxBytes + 3) & ~3;
}

/** Returns whether a value is text that UTF-8 can represent. */
export function isWellFormed(value: unknown): value is string {
  return typeof value === "string" && !LONE.test(value);
}

/** Writes a text, or an empty text if it is too long. Returns whether the text fitted. */
export function writeText(to: Uint8Array, at: number, maxBytes: number, text: string): boolean {
  const from = at + HEAD_BYTES;
  const { read, written } = encoder.encodeInto(text, to.subarray(from, from + maxBytes));
  const fits = read === text.length;
  const bytes = fits ? written : 0;
  for (let i = 0; i < HEAD_BYTES; i++) to[at + i] = bytes >>> (8 * i);
  to.fill(0, from + bytes, at + textBytes(maxBytes));
  return fits;
}

/** Reads n adjacent texts. @param first the index of the first text in `to` */
export function readTexts(from: Uint8Array, at: number, maxBytes: number, to: string[], n: number, first = 0): void {
  for (let i = first; i < first + n; i++, at += textBytes(maxBytes)) {
    let bytes = 0;
    for (let k = 0; k < HEAD_BYTES; k++) bytes += (from[at + k] as number) * 2 ** (8 * k);
    const begin = at + HEAD_BYTES;
    // The length is bounded here, since a file may contain any length.
    to[i] = bytes === 0 ? "" : decoder.decode(from.subarray(begin, begin + Math.min(bytes, maxBytes)));
  }
}

/** Returns the number of UTF-8 bytes of a text, for messages. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}
