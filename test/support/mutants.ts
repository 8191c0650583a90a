/** Files with damage: what a reader must refuse, or read as something else, and never more. */

/** A generator of numbers in 0 … 2³² - 1 (mulberry32). */
export function randoms(seed: number): () => number {
  let a = seed | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** Flips bits, sets bytes and numbers, cuts, moves or doubles a part. */
export function mutant(bytes: Uint8Array, random: () => number): Uint8Array {
  const below = (n: number) => random() % Math.max(1, n);
  let out = bytes.slice();
  for (let n = 1 + below(4); n > 0; n--) {
    const at = below(out.length);
    const kind = below(8);
    const part = out.slice(at, at + 1 + below(64));
    if (kind === 0) out = out.slice(0, at);
    else if (kind === 1) out.set(part.slice(0, out.length - 64), below(out.length - part.length));
    else if (kind === 2) out.fill([0, 255, 1, 127][below(4)] as number, at, at + 1 + below(16));
    else if (kind === 3) out = Uint8Array.from([...out.subarray(0, at), ...part, ...out.subarray(at)]);
    else if (kind === 4 && at + 8 < out.length) new DataView(out.buffer).setBigUint64(at, BigInt(below(3) === 0 ? 2 ** 40 : below(2 ** 31)), true);
    else out[at] = kind < 6 ? (out[at] as number) ^ (1 << below(8)) : below(256);
    if (out.length === 0) return out;
  }
  return out;
}
