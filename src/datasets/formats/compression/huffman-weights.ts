/** Detects Zstandard literals on which fzstd would loop endlessly, because the table of their Huffman weights consumes no bits. */

/** The maximum accuracy of a table of weights. The accuracy is the number of bits of a state. */
const MAX_ACCURACY = 6;

/** Returns whether a single symbol fills the table of Huffman weights in a block. @param block the content of a compressed block, without its head */
export function isEndlessTable(block: Uint8Array): boolean {
  const [head = 0] = block;
  // Only compressed literals (kind 2) contain a table.
  if ((head & 3) !== 2) return false;
  const format = (head >> 2) & 3;
  const at = format < 2 ? 3 : format === 2 ? 4 : 5;
  const [count = 128] = block.subarray(at, at + 1);
  if (count >= 128) return false;
  return hasOneSymbol(block.subarray(at + 1));
}

/** Returns whether one symbol fills the table. Returns false for tables with other faults, which the decoder itself reports. */
function hasOneSymbol(bytes: Uint8Array): boolean {
  const bitsAt = (at: number) => (bytes[at >> 3] ?? 0) | ((bytes[(at >> 3) + 1] ?? 0) << 8) | ((bytes[(at >> 3) + 2] ?? 0) << 16);
  const accuracy = ((bytes[0] ?? 0) & 15) + 5;
  if (accuracy > MAX_ACCURACY) return false;
  const size = 1 << accuracy;
  const counts: number[] = [];
  let at = 4;
  for (let left = size; left > 0 && counts.length < 256 && at < 8 * bytes.length; ) {
    const bits = 31 - Math.clz32(left + 1);
    const mask = (1 << (bits + 1)) - 1;
    const value = (bitsAt(at) >> (at & 7)) & mask;
    const low = value & (mask >> 1);
    const spare = mask - left - 1;
    const isShort = low < spare;
    at += isShort ? bits : bits + 1;
    const count = (isShort ? low : value > mask >> 1 ? value - spare : value) - 1;
    counts.push(count);
    left -= Math.abs(count);
    if (count !== 0) continue;
    for (let zeros = 3; zeros === 3; ) {
      zeros = (bitsAt(at) >> (at & 7)) & 3;
      at += 2;
      for (let i = 0; i < zeros; i++) counts.push(0);
    }
  }
  return counts.includes(size);
}
