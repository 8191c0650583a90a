/** Writes and reads tensors of text, which contain the lengths of all texts as varints, followed by their uncompressed bytes. */
import { corrupt } from "../../base/error.ts";

/** The start of every CORRUPT message in this file. */
const UNREADABLE = "a string tensor cannot be read";

const INTO = new TextEncoder();
// A text may begin with a byte order mark, which decoders drop by default.
const FROM = new TextDecoder("utf-8", { ignoreBOM: true });

export function writeStrings(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  const parts = texts.map((text) => INTO.encode(text));
  let size = 0;
  for (const { length } of parts) {
    size += length;
    for (let rest = length; ; rest >>>= 7) {
      size++;
      if (rest < 128) break;
    }
  }
  const content = new Uint8Array(size);
  let at = 0;
  for (let { length: rest } of parts) {
    for (; rest > 127; rest >>>= 7) content[at++] = (rest & 127) | 128;
    content[at++] = rest;
  }
  for (const part of parts) {
    content.set(part, at);
    at += part.length;
  }
  return content;
}

/**
 * Reads `count` strings. Invalid UTF-8 becomes U+FFFD. O(bytes)
 * @param taking is called before memory is allocated, and may throw
 * @throws ReplayError CORRUPT if the bytes are not exactly that many strings
 */
export function readStrings(content: Uint8Array, count: number, taking?: () => void): string[] {
  // Each text takes at least one byte, so a hostile count allocates nothing.
  if (count > content.length) throw corrupt(UNREADABLE, `${count} strings do not fit in ${content.length} bytes`);
  taking?.();
  let at = 0;
  const lengths = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = content[at++];
      if (byte === undefined || factor > 2 ** 28) throw corrupt(UNREADABLE, "the length of a string cannot be read");
      length += (byte & 127) * factor;
      if (byte < 128) break;
    }
    lengths[i] = length;
  }
  const texts = new Array<string>(count);
  for (let i = 0; i < count; i++) {
    const length = lengths[i] as number;
    if (length > content.length - at) throw corrupt(UNREADABLE, `a string of ${length} bytes should follow, but only ${content.length - at} bytes remain`);
    texts[i] = length === 0 ? "" : FROM.decode(content.subarray(at, at + length));
    at += length;
  }
  if (at !== content.length) throw corrupt(UNREADABLE, `${content.length - at} bytes follow the last string`);
  return texts;
}
