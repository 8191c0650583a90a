/** Compares, validates and orders UTF-8 text. */

/** Whether some bytes equal a text, which must be ASCII. */
export function isText(at: usize, bytes: u32, text: string): bool {
  if (bytes != <u32>text.length) return false;
  for (let i: u32 = 0; i < bytes; i++) if (<u32>load<u8>(at + <usize>i) != <u32>text.charCodeAt(<i32>i)) return false;
  return true;
}

/** Whether some bytes are valid UTF-8: complete, without overlong forms, surrogates or values above U+10FFFF. */
export function isUtf8(at: usize, bytes: u32): bool {
  const end = at + <usize>bytes;
  while (at < end) {
    const lead = <u32>load<u8>(at++);
    if (lead < 0x80) continue;
    const more: usize = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (lead < 0xc2 || lead > 0xf4 || at + more > end) return false;
    const second = <u32>load<u8>(at);
    // Some lead bytes allow fewer second bytes.
    const least: u32 = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const most: u32 = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return false;
    for (let i: usize = 1; i < more; i++) if ((load<u8>(at + i) & 0xc0) != 0x80) return false;
    at += more;
  }
  return true;
}

/** Returns the number of bytes of a character, given its first byte. */
export function characterBytes(lead: u32): u32 {
  return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** Returns how many of the first `bytes` bytes of a longer UTF-8 text belong to whole characters. */
export function wholeCharacters(at: usize, bytes: u32): u32 {
  while (bytes > 0 && (load<u8>(at + <usize>bytes) & 0xc0) == 0x80) bytes--;
  return bytes;
}

/** Compares two texts by UTF-16 code units, like JavaScript's sort: negative, 0, positive. */
export function compareText(a: usize, aBytes: u32, b: usize, bBytes: u32): i32 {
  const both = min(aBytes, bBytes);
  for (let i: u32 = 0; i < both; i++) {
    const x = <i32>load<u8>(a + <usize>i);
    const y = <i32>load<u8>(b + <usize>i);
    if (x == y) continue;
    // A surrogate is smaller than the code units from U+E000 on, although its character is larger.
    if (x >= 0xf0 && y >= 0xee && y < 0xf0) return -1;
    if (y >= 0xf0 && x >= 0xee && x < 0xf0) return 1;
    return x - y;
  }
  return <i32>aBytes - <i32>bBytes;
}
