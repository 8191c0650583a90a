/** Text in rows: how many bytes it has (u32), these in UTF-8, zeros up to the limit. Equal texts have equal bytes. */

const HEAD_BYTES = 4;
/** Half a character, which UTF-8 cannot say. */
const LONE = /\p{Surrogate}/u;
const encoder = new TextEncoder();
// A byte order mark is a part of the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Bytes of one text in a row: a multiple of 4. */
export function textBytes(maxBytes: number): number {
  return (HEAD_BYTES + maxBytes + 3) & ~3;
}

/** Whether a value is text that UTF-8 can say. */
export function isWellFormed(value: unknown): value is string {
  return typeof value === "string" && !LONE.test(value);
}

/** Writes a text; one that is too long becomes an empty one. Whether it fitted. */
export function writeText(to: Uint8Array, at: number, maxBytes: number, text: string): boolean {
  const from = at + HEAD_BYTES;
  const { read, written } = encoder.encodeInto(text, to.subarray(from, from + maxBytes));
  const fits = read === text.length;
  const bytes = fits ? written : 0;
  for (let i = 0; i < HEAD_BYTES; i++) to[at + i] = bytes >>> (8 * i);
  to.fill(0, from + bytes, at + textBytes(maxBytes));
  return fits;
}

/** Reads n texts that stand one after the other. @param first where the first of them goes */
export function readTexts(from: Uint8Array, at: number, maxBytes: number, to: string[], n: number, first = 0): void {
  for (let i = first; i < first + n; i++, at += textBytes(maxBytes)) {
    let bytes = 0;
    for (let k = 0; k < HEAD_BYTES; k++) bytes += (from[at + k] as number) * 2 ** (8 * k);
    const begin = at + HEAD_BYTES;
    // Bounded, since a file may say anything.
    to[i] = bytes === 0 ? "" : decoder.decode(from.subarray(begin, begin + Math.min(bytes, maxBytes)));
  }
}

/** Bytes of a text in UTF-8: for messages. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}
