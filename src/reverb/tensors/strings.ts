/** Tensors of text: the lengths of all texts as varints, then their bytes. They are not compressed. */
import { ReplayError } from "../../error.ts";

const INTO = new TextEncoder();
const FROM = new TextDecoder();

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

/** Each text's bytes, as views. @throws ReplayError CORRUPT */
export function readStrings(content: Uint8Array, count: number): Uint8Array[] {
  // Each takes a byte at least: a hostile count takes no memory.
  if (count > content.length) throw corrupt(`${count} texts cannot be in ${content.length} bytes`);
  let at = 0;
  const lengths = Array.from({ length: count }, () => {
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = content[at++];
      if (byte === undefined || factor > 2 ** 28) throw corrupt("a text's length cannot be read");
      length += (byte & 127) * factor;
      if (byte < 128) return length;
    }
  });
  const found = lengths.map((length) => {
    if (length > content.length - at) throw corrupt(`a text of ${length} bytes should follow, and ${content.length - at} do`);
    at += length;
    return content.subarray(at - length, at);
  });
  if (at !== content.length) throw corrupt(`${content.length - at} bytes are left over`);
  return found;
}

/** What is not UTF-8 shows as U+FFFD. */
export function texts(parts: readonly Uint8Array[]): string[] {
  return parts.map((part) => FROM.decode(part));
}

function corrupt(why: string): ReplayError {
  return new ReplayError("CORRUPT", `a tensor of text cannot be read: ${why}`);
}
